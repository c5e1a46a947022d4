//! Lowers `If`. A condition that is known at import takes its branch. Otherwise both branches are computed, which has no
//! effect but their results, and each result is selected element by element.

use super::{
    basic::{is_true, selected, two},
    shapes::reshaped,
};
use crate::import::{
    error::Problem,
    onnx::{
        integers::mark_nodes,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        passed::Passed,
        value::{BoundedAxis, Computed, Size, Value},
    },
    op_registry::All,
};
use texpool_ops::graph::{Binary, ElementType};

const NAMES: [&str; 2] = ["then_branch", "else_branch"];

const HINT: &str = "make constants of the inputs that it is computed from, so that only one branch is needed";

pub(super) const OPERATORS: &[OnnxOpEntry] = &[OnnxOpEntry::new("If", 1, All, "binary", Any, branch).limits(
    "a condition that is known on import takes its branch; otherwise both are computed, and their results must agree \
     in extents and types, or one is empty and a run finds the extent of the other",
)];

fn branch(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let condition = ctx.operand(0)?;
    if condition.element_type() != ElementType::Bool || condition.len() != 1 {
        let (elem, dims) = (condition.element_type(), condition.dims());
        return Err(Problem::malformed(format!("its condition is {elem} {dims:?}, not a single truth value")));
    }
    match &condition {
        Value::Known(array) => {
            let (results, passed) = results(ctx, NAMES[usize::from(!is_true(array))])?;
            ctx.results = results;
            ctx.of_bodies.push(passed);
            ctx.is_open = (0..ctx.results.len()).any(|position| ctx.wants(position) && ctx.results[position].is_none());
            Ok(())
        }
        Value::Computed(computed) => both(ctx, computed),
    }
}

/// Returns the problem that both branches are needed.
fn needs_both(ctx: &mut NodeLowering<'_>, condition: &Computed) -> Result<Problem, Problem> {
    let sources = ctx.lowering.source_names(condition.tensor)?;
    let reason = format!("both branches are needed, since the condition is computed from {sources} in a run");
    Ok(Problem::new(reason, HINT).decided_by(ctx.lowering.deciding_inputs(condition.tensor)?))
}

/// Lowers a branch, and returns its results, one for each of the node, and the extents of a run that they have.
fn results(ctx: &mut NodeLowering<'_>, name: &str) -> Result<(Vec<Option<Value>>, Passed), Problem> {
    let results = ctx.body(name, &[])?;
    let passed = ctx.of_bodies.pop().unwrap_or_default();
    let (count, stated) = (results.len(), ctx.results.len());
    if count != stated {
        let problem = Problem::malformed(format!("it has {count} results, and the node has {stated}"));
        return Err(problem.of_branch(name, &ctx.node.operator()));
    }
    Ok((results, passed))
}

/// Lowers both branches, and selects their results.
fn both(ctx: &mut NodeLowering<'_>, condition: &Computed) -> Result<(), Problem> {
    let (mut branches, mut problems) = (Vec::new(), Vec::new());
    for name in NAMES {
        match results(ctx, name) {
            Ok(results) => branches.push(results),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(Problem::of_branches(problems, &needs_both(ctx, condition)?));
    }
    let [(other, of_other), (then, of_then)] = [(); 2].map(|()| branches.pop().unwrap_or_default());
    let mut bounds = Vec::with_capacity(then.len());
    for (position, pair) in then.into_iter().zip(other).enumerate() {
        bounds.push(Vec::new());
        if !ctx.wants(position) {
            continue;
        }
        let (Some(x), Some(y)) = pair else {
            ctx.is_open = true;
            return Ok(());
        };
        let both = [&of_then, &of_other];
        let has_sizes = both.iter().any(|passed| passed.sizes.get(position).is_some_and(|sizes| !sizes.is_empty()));
        let result = match (!has_sizes).then(|| both.map(|passed| passed.bounds_of(position))) {
            Some([a, b]) if BoundedAxis::are_alike(a, b) => {
                bounds[position] = a.to_vec();
                selected_result(ctx, position, condition, [x, y])?
            }
            Some([[], [bounded]]) if is_empty_along(&x, &y, bounded) => {
                bounds[position] = vec![unless(ctx, Binary::ZeroIf, condition, bounded)?];
                y
            }
            Some([[bounded], []]) if is_empty_along(&y, &x, bounded) => {
                bounds[position] = vec![unless(ctx, Binary::ZeroUnless, condition, bounded)?];
                x
            }
            _ => {
                let why = needs_both(ctx, condition)?;
                let reason = format!(
                    "the extent of a result is found in a run, and only one branch can give it; {}",
                    why.reason
                );
                return Err(Problem { reason, ..why });
            }
        };
        ctx.give(position, result);
    }
    ctx.of_bodies.push(Passed { bounds, ..Passed::default() });
    Ok(())
}

/// Returns whether a value is another one without any of its places along an axis. Networks return nothing so if they have
/// found nothing to work on.
fn is_empty_along(empty: &Value, other: &Value, along: &BoundedAxis) -> bool {
    let mut dims = other.dims().to_vec();
    dims[along.axis] = 0;
    empty.dims() == dims && empty.element_type() == other.element_type()
}

/// Returns the axis with no places if the condition holds, or with [`Binary::ZeroUnless`] if it does not.
fn unless(
    ctx: &mut NodeLowering<'_>,
    binary: Binary,
    condition: &Computed,
    bounded: &BoundedAxis,
) -> Result<BoundedAxis, Problem> {
    let Size { count, bound, .. } = &bounded.size;
    let condition = reshaped(ctx.lowering, &Value::Computed(condition.clone()), &count.dims)?;
    let count = Value::Computed(count.clone());
    let count = two(ctx, binary, &condition, &count, ElementType::I64)?;
    Ok(BoundedAxis { axis: bounded.axis, size: Size { count, least: 0, bound: *bound } })
}

/// Selects a result.
fn selected_result(
    ctx: &mut NodeLowering<'_>,
    position: usize,
    condition: &Computed,
    [x, y]: [Value; 2],
) -> Result<Value, Problem> {
    let facts = |value: &Value| format!("{} {:?}", value.element_type(), value.dims());
    if (x.dims(), x.element_type()) != (y.dims(), y.element_type()) {
        let (name, why) = (&ctx.node.outputs[position], needs_both(ctx, condition)?);
        let ([then, other], [x, y]) = (NAMES, [facts(&x), facts(&y)]);
        let reason = format!("its result `{name}` is {x} in the {then}, but {y} in the {other}; {}", why.reason);
        return Err(Problem { reason, ..why });
    }
    chosen(ctx, condition, [x, y])
}

/// Selects the first value if a single truth value holds, else the second one. Both have the same extents and type.
pub(super) fn chosen(ctx: &mut NodeLowering<'_>, condition: &Computed, [x, y]: [Value; 2]) -> Result<Value, Problem> {
    match (&x, &y) {
        // No selection is needed if both are the same value, or without elements.
        (Value::Computed(one), Value::Computed(other))
            if (one.tensor, &one.layout) == (other.tensor, &other.layout) =>
        {
            Ok(x)
        }
        _ if x.len() == 0 => Ok(x),
        _ => {
            let first = ctx.lowering.graph.nodes.len();
            // Without axes, so that it gives the result none.
            let condition = reshaped(ctx.lowering, &Value::Computed(condition.clone()), &[])?;
            let result = selected(ctx, &condition, [&x, &y])?;
            if result.elem.is_integer() {
                mark_nodes(&mut ctx.lowering.graph, first, &result);
            }
            Ok(Value::Computed(result))
        }
    }
}
