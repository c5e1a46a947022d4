//! Means of a variable number of places: those of a normalization, and those of windows that may reach the border.

use super::{
    array::Array,
    fold::math,
    lower::{find, one, reduced_over, reshaped, two},
    masks::{self, Neutral},
    node_lowering::NodeLowering,
    passed::Passed,
    value::{BoundedAxis, Computed, Value},
};
use crate::import::error::Problem;
use texpool_ops::graph::{Binary, ElementType, ReduceKind, Unary};

/// Axes in front of those of an image or signal: items and channels.
const LEADING: usize = 2;

/// Returns the number by which means of windows without the border are multiplied. They are divided by the number of
/// places in front of the bound; the same windows over ones in front of the extent tell how many of them count.
pub(super) fn share_of_windows(ctx: &mut NodeLowering<'_>, bounds: &[BoundedAxis]) -> Result<Value, Problem> {
    let mut dims = ctx.operand(0)?.dims().to_vec();
    dims.iter_mut().take(LEADING).for_each(|extent| *extent = 1);
    ctx.budget_for(&dims, size_of::<f32>(), 1)?;
    let elem = ElementType::F32;
    let ones = vec![1.0; dims.iter().product()];
    let ones = masks::masked(ctx, &Value::Known(Array::of_floats(dims, elem, &ones)), bounds, Neutral::Zero)?;
    let Some(entry) = find("", &ctx.node.op) else {
        return Err(Problem::malformed("it is no operator of windows"));
    };
    let operands = std::mem::replace(&mut ctx.operands, vec![Some(ones)]);
    (entry.lower)(ctx)?;
    ctx.operands = operands;
    let Some(counted) = ctx.results.first_mut().and_then(Option::take) else {
        return Err(Problem::malformed("it has no result"));
    };
    two(ctx, Binary::Div, &math::scalar(1.0), &counted, elem).map(Value::Computed)
}

/// Normalizes each channel of an item by the mean and the variance of the places in front of the extents.
pub(super) fn instance(ctx: &mut NodeLowering<'_>) -> Result<Option<Passed>, Problem> {
    let bounds = ctx.bounds[0].clone();
    let along: Vec<BoundedAxis> = bounds.iter().filter(|bounded| bounded.axis >= LEADING).cloned().collect();
    let x = ctx.computed(0)?;
    let (rank, elem) = (x.dims.len(), x.elem);
    // Volumes are stacked images, which have no axis for each of theirs.
    if bounds.iter().any(|bounded| bounded.axis == 1) || (!along.is_empty() && !(3..=4).contains(&rank)) {
        return Ok(None);
    }
    let passed = Passed::on(bounds);
    let Some(share) = masks::share(ctx, &along)? else { return Ok(Some(passed)) };
    let over: Vec<usize> = (LEADING..rank).collect();
    let mean = |ctx: &mut NodeLowering<'_>, x: Value| -> Result<Value, Problem> {
        let masked = masks::masked(ctx, &x, &along, Neutral::Zero)?;
        let masked = ctx.compute(&masked)?;
        let mean = Value::Computed(reduced_over(ctx, &masked, ReduceKind::Mean, &over)?);
        two(ctx, Binary::Mul, &mean, &share, elem).map(Value::Computed)
    };
    let x = Value::Computed(x);
    let shift = mean(ctx, x.clone())?;
    let centred = Value::Computed(two(ctx, Binary::Sub, &x, &shift, elem)?);
    let squares = of_each(ctx, Unary::Square, &centred)?;
    let variance = mean(ctx, Value::Computed(squares))?;
    let epsilon = math::scalar(ctx.float("epsilon", 1e-5)?);
    let variance = Value::Computed(two(ctx, Binary::Add, &variance, &epsilon, elem)?);
    let deviation = Value::Computed(of_each(ctx, Unary::Sqrt, &variance)?);
    let mut y = two(ctx, Binary::Div, &centred, &deviation, elem)?;
    for (position, binary) in [(1, Binary::Mul), (2, Binary::Add)] {
        let own = ctx.operand(position)?;
        let own = reshaped(ctx.lowering, &own, &[vec![own.len()], vec![1; rank - LEADING]].concat())?;
        y = two(ctx, binary, &Value::Computed(y), &own, elem)?;
    }
    Ok(Some(Passed { result: Some(Value::Computed(y)), ..passed }))
}

fn of_each(ctx: &mut NodeLowering<'_>, unary: Unary, x: &Value) -> Result<Computed, Problem> {
    let x = ctx.compute(x)?;
    let elem = x.elem;
    one(ctx, unary, &x, elem)
}
