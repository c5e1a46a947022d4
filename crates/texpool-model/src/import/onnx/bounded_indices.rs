//! Rules of operators that look up or write places by their indices, for axes whose extent a run gives or finds.

use super::{
    array::Array,
    bounded_axes::rank,
    lower, masks,
    node_lowering::NodeLowering,
    value::{BoundedAxis, Value},
};
use crate::import::error::Problem;
use texpool_ops::graph::{Binary, ElementType};

/// Indices replace the axis that they look up along. The first place of an axis that has at least one can be looked up.
pub(super) fn gather(ctx: &NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let along = ctx.axis(rank(ctx, 0), 0)?;
    let indices = ctx.optional(1);
    let is_first =
        indices.as_ref().and_then(Value::known).is_some_and(|array| array.to_f32().iter().all(|&i| i == 0.0));
    let shift = rank(ctx, 1);
    let mut passed = Vec::new();
    for bounded in &ctx.bounds[0] {
        match bounded.axis {
            axis if axis < along => passed.push(bounded.clone()),
            axis if axis > along => passed.push(bounded.on(axis - 1 + shift)),
            _ if is_first && bounded.size.least > 0 => {}
            _ => return Ok(None),
        }
    }
    passed.extend(ctx.bounds.get(1).into_iter().flatten().map(|bounded| bounded.on(along + bounded.axis)));
    Ok(Some(passed))
}

pub(super) fn gather_nd(ctx: &NodeLowering<'_>) -> Option<Vec<BoundedAxis>> {
    let indices = ctx.bounds.get(1)?;
    let is_row = |bounded: &BoundedAxis| bounded.axis + 1 < rank(ctx, 1);
    let is_plain = ctx.bounds[0].is_empty() && ctx.size("batch_dims", 0).is_ok_and(|batch| batch == 0);
    (is_plain && indices.iter().all(is_row)).then(|| indices.clone())
}

/// Indices have the extents of the operand along all axes but the one that they look up along.
pub(super) fn gather_elements(ctx: &NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let along = ctx.axis(rank(ctx, 0), 0)?;
    let [of_data, of_indices] = [0, 1].map(|operand| ctx.bounds.get(operand).map(Vec::as_slice).unwrap_or_default());
    let are_alike = of_data.iter().all(|bounded| bounded.axis != along && is_among(bounded, of_indices))
        && of_indices.iter().all(|bounded| bounded.axis == along || is_among(bounded, of_data));
    Ok(are_alike.then(|| of_indices.to_vec()))
}

fn is_among(bounded: &BoundedAxis, others: &[BoundedAxis]) -> bool {
    others.iter().any(|other| other.is_like(bounded))
}

/// Tuples behind an extent become such that name no row, so that nothing is written for them.
pub(super) fn scatter_nd(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let indices = ctx.operand(1)?;
    let Some((&named, outer)) = indices.dims().split_last() else { return Ok(None) };
    let outer = outer.len();
    let [of_data, of_indices, of_updates] = [0, 1, 2].map(|i| ctx.bounds.get(i).cloned().unwrap_or_default());
    // Updates have the axes of the tuples, and behind those the ones of a row.
    let of_rows = of_data.iter().filter(|bounded| bounded.axis >= named);
    let written: Vec<BoundedAxis> =
        of_indices.iter().cloned().chain(of_rows.map(|bounded| bounded.on(bounded.axis - named + outer))).collect();
    let is_tuple = |bounded: &BoundedAxis| bounded.axis == outer;
    if of_indices.iter().any(is_tuple)
        || written.len() != of_updates.len()
        || !written.iter().all(|bounded| is_among(bounded, &of_updates))
    {
        return Ok(None);
    }
    for bounded in of_data.iter().filter(|bounded| bounded.axis < named) {
        match indices.known() {
            Some(array) if array.to_f32().iter().any(|&index| index < 0.0) => return Ok(None),
            Some(_) => {}
            None => count_from_extent(ctx, bounded, named)?,
        }
    }
    // An index outside every axis.
    let most = ctx.operand(0)?.dims().get(..named).unwrap_or_default().iter().max().copied().unwrap_or(0);
    masks::replace(ctx, 1, &of_indices, &integers(vec![most as i64]))?;
    Ok(Some(of_data))
}

fn integers(numbers: Vec<i64>) -> Value {
    Value::Known(Array::of_ints(vec![numbers.len()], ElementType::I64, numbers))
}

/// Makes negative indices of an axis such that count from its extent, and not from its bound.
fn count_from_extent(ctx: &mut NodeLowering<'_>, bounded: &BoundedAxis, named: usize) -> Result<(), Problem> {
    let indices = ctx.operand(1)?;
    let is_own = integers((0..named).map(|axis| i64::from(axis == bounded.axis)).collect());
    let two = |ctx: &mut NodeLowering<'_>, binary, a: &Value, b: &Value| {
        lower::two(ctx, binary, a, b, ElementType::I64).map(Value::Computed)
    };
    let count = Value::Computed(bounded.size.count.clone());
    let missing = two(ctx, Binary::Sub, &count, &integers(vec![bounded.size.bound as i64]))?;
    let shift = two(ctx, Binary::Mul, &missing, &is_own)?;
    let is_negative = two(ctx, Binary::Less, &indices, &integers(vec![0]))?;
    let shift = two(ctx, Binary::ZeroUnless, &is_negative, &shift)?;
    ctx.operands[1] = Some(two(ctx, Binary::Add, &indices, &shift)?);
    Ok(())
}
