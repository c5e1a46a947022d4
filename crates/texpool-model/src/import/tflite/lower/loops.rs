//! Lowers WHILE by repeating its body until the condition is known to fail. If a run decides about the end, the body is
//! repeated as often as any run may need, and each result is the value after the last iteration before the end.

use super::branch::selection;
use crate::import::{
    common::loops,
    error::Problem,
    tflite::{
        bodies::lower_body,
        op_registry::{Described::LikeOnnx, TfLiteOpEntry},
        operator_lowering::OperatorLowering,
        schema::WhileOptions,
    },
};
use texpool_ops::graph::{Act, Binary, Op, Shape, TensorId};

/// Steps of work for an iteration, even of an empty body. A microsecond.
const ITERATION_STEPS: usize = 1_000;

const HINT: &str = "convert the model with a fixed number of iterations, or cut the graph in front of it";

pub(super) const OPERATORS: &[TfLiteOpEntry] =
    &[TfLiteOpEntry::new("WHILE", LikeOnnx("Loop"), repeat).several_results()];

/// An iteration that a run decides about.
struct Iteration {
    /// Truth value: true before the end.
    flag: TensorId,
    /// Values that it passes on.
    passed: Vec<TensorId>,
}

fn repeat(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let (operands, results) = (ctx.operand_count(), ctx.result_count());
    if operands != results {
        return Err(Problem::malformed(format!("it has {operands} operands and {results} results")));
    }
    let options = ctx.options::<WhileOptions<'static>>()?;
    let (condition, body) = (options.cond_subgraph_index(), options.body_subgraph_index());
    let mut carried = (0..operands).map(|i| ctx.carried(i)).collect::<Result<Vec<_>, _>>()?;
    // Values after the last iteration before the end of every run.
    let mut certain = carried.clone();
    let mut decided: Vec<Iteration> = Vec::new();
    let first = ctx.node_count();
    let mut decider = None;
    for number in 0.. {
        ctx.meter().work(ITERATION_STEPS)?;
        let holds = holds(ctx, condition, &carried)?;
        let before = decided.last().map(|iteration| iteration.flag);
        let flag = match ctx.known_number(holds) {
            Some(0.0) => break,
            Some(_) => before,
            None => {
                decider.get_or_insert(holds);
                Some(both(ctx, before, holds)?)
            }
        };
        if let Some(decider) = decider {
            check(ctx, decider, number, first)?;
        }
        carried = lower_body(ctx, body, &carried).map_err(|problem| problem.of_branch("body", "WHILE"))?;
        if carried.len() != results {
            let count = carried.len();
            return Err(Problem::malformed(format!("its body has {count} results, and the operator has {results}")));
        }
        match flag {
            Some(flag) => decided.push(Iteration { flag, passed: carried.clone() }),
            None => certain.clone_from(&carried),
        }
    }
    for (position, &value) in certain.iter().enumerate() {
        ctx.select(position)?;
        finish(ctx, value, position, &decided)?;
    }
    Ok(())
}

/// Lowers the graph of the condition, and returns its truth value.
fn holds(ctx: &mut OperatorLowering<'_, '_>, graph: i32, carried: &[TensorId]) -> Result<TensorId, Problem> {
    let results = lower_body(ctx, graph, carried).map_err(|problem| problem.of_branch("cond", "WHILE"))?;
    match results[..] {
        [holds] if ctx.is_bool(holds) && ctx.shape(holds).len() == 1 => {
            ctx.load(holds)?;
            Ok(holds)
        }
        _ => Err(Problem::malformed(format!("its condition has {} results, not a single truth value", results.len()))),
    }
}

/// Returns whether a condition holds and those before it did.
fn both(ctx: &mut OperatorLowering<'_, '_>, before: Option<TensorId>, holds: TensorId) -> Result<TensorId, Problem> {
    let single = Shape::new(1, 1, 1, 1);
    let holds = ctx.view(holds, single)?;
    match before {
        Some(before) => ctx.between(Op::Binary(Binary::And), &[before, holds], single),
        None => Ok(holds),
    }
}

/// Fails if a run would have to decide about too many iterations.
fn check(ctx: &mut OperatorLowering<'_, '_>, decider: TensorId, number: i64, first: usize) -> Result<(), Problem> {
    let nodes = ctx.node_count() - first;
    if !loops::is_too_long(number, nodes) {
        return Ok(());
    }
    let sources = ctx.sources(decider)?;
    let reason = loops::too_long(&format!("its condition is computed at run time{sources}"), number, nodes);
    Err(Problem::new(reason, HINT))
}

/// Gives the current result the value after the last iteration before the end.
fn finish(
    ctx: &mut OperatorLowering<'_, '_>,
    certain: TensorId,
    position: usize,
    decided: &[Iteration],
) -> Result<(), Problem> {
    ctx.load_result(certain)?;
    let mut last = certain;
    // Iterations that pass the value on as it is select nothing.
    let mut values = vec![certain];
    let mut selections = Vec::new();
    for Iteration { flag, passed } in decided {
        let value = passed[position];
        if values.last() != Some(&value) {
            ctx.load_result(value)?;
            values.push(value);
            selections.push((*flag, value));
        }
    }
    let Some((final_flag, final_value)) = selections.pop() else { return ctx.pass(certain) };
    let shape = ctx.shape(certain);
    for (flag, value) in selections {
        let parts = selection(ctx, flag, [value, last])?;
        last = ctx.between(Op::Binary(Binary::Add), &parts, shape)?;
    }
    let parts = selection(ctx, final_flag, [final_value, last])?;
    ctx.emit(Op::Binary(Binary::Add), &parts, Act::None)
}
