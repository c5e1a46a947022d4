//! Lowers IF. A condition that is constant takes its branch. Otherwise both branches are computed, which has no
//! effect but their results, and each result is selected element by element.

use crate::import::{
    common::graph::selected_parts,
    error::Problem,
    tflite::{
        bodies::lower_body,
        op_registry::{Described::LikeOnnx, TfLiteOpEntry},
        operator_lowering::OperatorLowering,
        schema::IfOptions,
    },
};
use texpool_ops::graph::{Act, Binary, Op, Shape, TensorId};

const NEEDED: &str = "both branches are needed, since the condition is computed in a run";
const HINT: &str = "convert the model with a constant condition, so that only one branch is needed";

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[TfLiteOpEntry::new("IF", LikeOnnx("If"), branch).several_results()];

fn branch(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, usize::MAX)?;
    let condition = ctx.operand(0)?;
    if !ctx.is_bool(condition) || ctx.shape(condition).len() != 1 {
        let dims = ctx.dims(condition);
        return Err(Problem::malformed(format!("its condition {dims:?} is not a single truth value")));
    }
    let options = ctx.options::<IfOptions<'static>>()?;
    let branches = [("then", options.then_subgraph_index()), ("else", options.else_subgraph_index())];
    let operands = (1..ctx.operand_count()).map(|i| ctx.operand(i)).collect::<Result<Vec<_>, _>>()?;
    if let Some(truth) = ctx.known_number(condition) {
        for (position, result) in results(ctx, branches[usize::from(truth == 0.0)], &operands)?.into_iter().enumerate()
        {
            ctx.select(position)?;
            ctx.load_result(result)?;
            ctx.pass(result)?;
        }
        return Ok(());
    }
    let (mut both, mut problems) = (Vec::new(), Vec::new());
    for branch in branches {
        match results(ctx, branch, &operands) {
            Ok(results) => both.push(results),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(Problem::of_branches(problems, &Problem::new(NEEDED, HINT)));
    }
    let [other, then] = [(); 2].map(|()| both.pop().unwrap_or_default());
    for (position, (x, y)) in then.into_iter().zip(other).enumerate() {
        ctx.select(position)?;
        selected(ctx, condition, [x, y])?;
    }
    Ok(())
}

/// Lowers a branch, and returns its results, one for each of the operator.
fn results(
    ctx: &mut OperatorLowering<'_, '_>,
    (name, graph): (&str, i32),
    operands: &[TensorId],
) -> Result<Vec<TensorId>, Problem> {
    let results = lower_body(ctx, graph, operands).and_then(|results| {
        let (count, stated) = (results.len(), ctx.result_count());
        match count == stated {
            true => Ok(results),
            false => Err(Problem::malformed(format!("it has {count} results, and the operator has {stated}"))),
        }
    });
    results.map_err(|problem| problem.of_branch(name, "IF"))
}

/// Selects the current result.
fn selected(ctx: &mut OperatorLowering<'_, '_>, condition: TensorId, [x, y]: [TensorId; 2]) -> Result<(), Problem> {
    ctx.load_result(x)?;
    ctx.load_result(y)?;
    if x == y {
        return ctx.pass(x);
    }
    let condition = ctx.view(condition, Shape::new(1, 1, 1, 1))?;
    let parts = selection(ctx, condition, [x, y])?;
    ctx.emit(Op::Binary(Binary::Add), &parts, Act::None)
}

/// Returns the parts of a selection by a single truth value. The selection is their sum.
pub(super) fn selection(
    ctx: &mut OperatorLowering<'_, '_>,
    condition: TensorId,
    [x, y]: [TensorId; 2],
) -> Result<[TensorId; 2], Problem> {
    let shape = ctx.shape(x);
    let node = |binary, [a, b]: [&TensorId; 2]| ctx.between(Op::Binary(binary), &[*a, *b], shape);
    selected_parts(&condition, [&x, &y], node)
}
