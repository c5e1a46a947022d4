//! Rules of operators that join an axis whose extent a run gives or finds to others, or take its last places, as networks
//! with a cache of earlier steps do.

use super::{
    derived_extents::{derived, sum},
    lower::{joined, picked_by, two},
    node_lowering::NodeLowering,
    value::{BoundedAxis, Computed, Size, Value},
};
use crate::import::error::Problem;
use texpool_ops::graph::{Binary, ElementType};

/// Tensors have the same extents along the other axes. Those behind one with such an extent along the axis are moved to its
/// extent from its bound.
pub(super) fn concat(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let along = ctx.axis(ctx.operand(0)?.dims().len(), 1)?;
    let values = (0..ctx.count()).map(|i| ctx.operand(i)).collect::<Result<Vec<_>, _>>()?;
    // The bounded axes of each operand: that along which operands are joined, and the others.
    let (open, others): (Vec<Vec<_>>, Vec<Vec<_>>) = (0..values.len())
        .map(|operand| ctx.bounds[operand].iter().cloned().partition(|bounded| bounded.axis == along))
        .unzip();
    if !others.iter().all(|own| BoundedAxis::are_alike(own, &others[0])) {
        return Ok(None);
    }
    let mut passed = others[0].clone();
    // The end of the tensors up to here: a sum of extents that a run finds, and a known number of places.
    let (mut found, mut known): (Option<Size>, usize) = (None, 0);
    let mut joints = Vec::new();
    for (operand, (value, own)) in values.iter().zip(&open).enumerate() {
        let [BoundedAxis { size, .. }] = &own[..] else {
            known += value.dims().get(along).copied().unwrap_or_default();
            continue;
        };
        let end = match &found {
            Some(before) => sum(ctx, before, size)?,
            None => size.clone(),
        };
        if operand + 1 < values.len() {
            joints.push(Joint { size: size.clone(), end: end.clone(), more: known });
        }
        found = Some(end);
    }
    let Some(found) = found else { return Ok(Some(passed)) };
    let size = derived(ctx, &found, [1, known as i64, 1])?;
    if !joints.is_empty() {
        let places = moved_places(ctx, &joints, size.bound)?;
        let whole = joined(ctx, &values, along)?;
        ctx.operands = vec![Some(picked_by(ctx, &whole, along, &places)?)];
    }
    passed.push(BoundedAxis { axis: along, size });
    Ok(Some(passed))
}

/// The end of a tensor with such an extent among joined ones.
struct Joint {
    size: Size,
    /// Its end in a run is this extent and `more`.
    end: Size,
    more: usize,
}

/// Returns for each of `total` places of tensors in a run the place with its value, if they are joined at their bounds.
fn moved_places(ctx: &mut NodeLowering<'_>, joints: &[Joint], total: usize) -> Result<Computed, Problem> {
    ctx.budget_for(&[total], size_of::<i64>(), joints.len())?;
    let elem = ElementType::I64;
    let places = Value::integers((0..total as i64).collect());
    let mut moved = places.clone();
    for Joint { size, end, more } in joints {
        let [count, end] = [size, end].map(|size| Value::Computed(size.count.clone()));
        let end = Value::Computed(two(ctx, Binary::Add, &end, &Value::integers(vec![*more as i64]), elem)?);
        let is_behind = Value::Computed(two(ctx, Binary::GreaterEqual, &places, &end, ElementType::Bool)?);
        let missing = Value::integers(vec![size.bound as i64]);
        let missing = Value::Computed(two(ctx, Binary::Sub, &missing, &count, elem)?);
        let shift = Value::Computed(two(ctx, Binary::ZeroUnless, &is_behind, &missing, elem)?);
        moved = Value::Computed(two(ctx, Binary::Add, &moved, &shift, elem)?);
    }
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
