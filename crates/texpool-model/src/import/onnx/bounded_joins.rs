//! Rules of operators that join an axis whose extent a run gives or finds to others, or take its last places, as networks
//! with a cache of earlier steps do.

use super::{
    derived_extents::derived,
    lower::{joined, picked_by, two},
    node_lowering::NodeLowering,
    value::{BoundedAxis, Computed, Value},
};
use crate::import::error::Problem;
use texpool_ops::graph::{Binary, ElementType};

/// Tensors have the same extents along the other axes, and at most one of them has such an extent along the axis. Those
/// behind it are moved to its extent from its bound.
pub(super) fn concat(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let along = ctx.axis(ctx.operand(0)?.dims().len(), 1)?;
    let (open, others): (Vec<_>, Vec<_>) = ctx
        .bounds
        .iter()
        .enumerate()
        .flat_map(|(operand, bounds)| bounds.iter().map(move |bounded| (operand, bounded.clone())))
        .partition(|(_, bounded)| bounded.axis == along);
    let of = |operand: usize| others.iter().filter(move |(own, _)| *own == operand).map(|(_, bounded)| bounded);
    let is_alike = |operand: usize| {
        of(operand).count() == of(0).count() && of(operand).all(|own| of(0).any(|other| other.is_like(own)))
    };
    if !(1..ctx.count()).all(is_alike) {
        return Ok(None);
    }
    let mut passed: Vec<BoundedAxis> = of(0).cloned().collect();
    match &open[..] {
        [] => {}
        [(operand, bounded)] => {
            let values = (0..ctx.count()).map(|i| ctx.operand(i)).collect::<Result<Vec<_>, _>>()?;
            let extent = |value: &Value| value.dims().get(along).copied().unwrap_or_default();
            let [before, behind] =
                [&values[..*operand], &values[operand + 1..]].map(|part| part.iter().map(extent).sum());
            let size = derived(ctx, &bounded.size, [1, (before + behind) as i64, 1])?;
            if behind > 0 {
                let places = moved_places(ctx, bounded, before, behind)?;
                let whole = joined(ctx, &values, along)?;
                ctx.operands = vec![Some(picked_by(ctx, &whole, along, &places)?)];
            }
            passed.push(BoundedAxis { axis: along, size });
        }
        _ => return Ok(None),
    }
    Ok(Some(passed))
}

/// Returns for each place of joined tensors the place with its value, if the one of this extent stands between `before` and
/// `behind` places and they are joined at its bound.
fn moved_places(
    ctx: &mut NodeLowering<'_>,
    bounded: &BoundedAxis,
    before: usize,
    behind: usize,
) -> Result<Computed, Problem> {
    let total = before + bounded.size.bound + behind;
    ctx.budget_for(&[total], size_of::<i64>(), 1)?;
    let elem = ElementType::I64;
    let count = Value::Computed(bounded.size.count.clone());
    let places = Value::integers((0..total as i64).collect());
    let end = Value::Computed(two(ctx, Binary::Add, &count, &Value::integers(vec![before as i64]), elem)?);
    let is_behind = Value::Computed(two(ctx, Binary::GreaterEqual, &places, &end, ElementType::Bool)?);
    let missing = Value::integers(vec![bounded.size.bound as i64]);
    let missing = Value::Computed(two(ctx, Binary::Sub, &missing, &count, elem)?);
    let shift = Value::Computed(two(ctx, Binary::ZeroUnless, &is_behind, &missing, elem)?);
    let moved = Value::Computed(two(ctx, Binary::Add, &places, &shift, elem)?);
    // Places behind the extent of the result exist, too.
    two(ctx, Binary::Minimum, &moved, &Value::integers(vec![total as i64 - 1]), elem)
}

/// Takes the last places of an axis of an operand, which has at least as many.
pub(super) fn last_places(
    ctx: &mut NodeLowering<'_>,
    operand: usize,
    bounded: &BoundedAxis,
    places: usize,
) -> Result<(), Problem> {
    let x = ctx.operand(operand)?;
    let from_end = Value::integers((0..places as i64).map(|place| place - places as i64).collect());
    let count = Value::Computed(bounded.size.count.clone());
    let indices = two(ctx, Binary::Add, &from_end, &count, ElementType::I64)?;
    ctx.operands[operand] = Some(picked_by(ctx, &x, bounded.axis, &indices)?);
    Ok(())
}
