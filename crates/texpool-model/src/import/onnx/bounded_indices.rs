//! Rules of operators that look up or write places by their indices, for axes whose extent a run gives or finds.

use super::{
    array::Array,
    bounded_axes::rank,
    lower,
    masks::{self, Neutral},
    node_lowering::NodeLowering,
    value::{BoundedAxis, Value},
};
use crate::import::error::Problem;
use texpool_ops::graph::{Binary, ElementType};

/// Indices replace the axis that they look up along. Places that an axis always has can be looked up, from its beginning or
/// its end, and any place by indices of a run.
pub(super) fn gather(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let along = ctx.axis(rank(ctx, 0), 0)?;
    let indices = ctx.operand(1)?;
    let shift = rank(ctx, 1);
    let mut passed = Vec::new();
    for bounded in &ctx.bounds[0].clone() {
        match bounded.axis {
            axis if axis < along => passed.push(bounded.clone()),
            axis if axis > along => passed.push(bounded.on(axis - 1 + shift)),
            _ => match indices.known() {
                Some(stated) if !from_ends(ctx, bounded, stated)? => return Ok(None),
                Some(_) => {}
                None => look_up(ctx, &bounded.on(0), 1)?,
            },
        }
    }
    passed.extend(ctx.bounds.get(1).into_iter().flatten().map(|bounded| bounded.on(along + bounded.axis)));
    Ok(Some(passed))
}

/// Adapts stated indices that look up places of an axis: negative ones count from the extent. Returns false if the axis may
/// lack a place.
fn from_ends(ctx: &mut NodeLowering<'_>, bounded: &BoundedAxis, stated: &Array) -> Result<bool, Problem> {
    let (dims, least) = (stated.dims(), bounded.size.least as i64);
    let Some(list) = stated.to_i64().filter(|list| list.iter().all(|index| (-least..least).contains(index))) else {
        return Ok(false);
    };
    if list.iter().all(|&index| index >= 0) {
        return Ok(true);
    }
    ctx.budget_for(dims, size_of::<i64>(), 1)?;
    let is_from_end = list.iter().map(|&index| i64::from(index < 0)).collect();
    let is_from_end = Value::Known(Array::of_ints(dims.to_vec(), ElementType::I64, is_from_end));
    let count = Value::Computed(bounded.size.count.clone());
    let shift = Value::Computed(lower::two(ctx, Binary::Mul, &is_from_end, &count, ElementType::I64)?);
    let indices = lower::two(ctx, Binary::Add, &Value::Known(stated.clone()), &shift, ElementType::I64)?;
    ctx.operands[1] = Some(lower::reshaped(ctx.lowering, &Value::Computed(indices), dims)?);
    Ok(true)
}

/// Rows that tuples of indices name replace the axes of the tuples.
pub(super) fn gather_nd(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let indices = ctx.operand(1)?;
    let Some((&named, outer)) = indices.dims().split_last() else { return Ok(None) };
    let outer = outer.len();
    let mut passed = ctx.bounds.get(1).cloned().unwrap_or_default();
    if ctx.size("batch_dims", 0)? != 0 || passed.iter().any(|bounded| bounded.axis == outer) {
        return Ok(None);
    }
    for bounded in &ctx.bounds[0].clone() {
        match bounded.axis {
            axis if axis >= named => passed.push(bounded.on(axis - named + outer)),
            _ if indices.known().is_none() => look_up(ctx, bounded, named)?,
            _ => return Ok(None),
        }
    }
    Ok(Some(passed))
}

/// Adapts indices of a run that look up places of an axis, one of `named` that a tuple names: negative ones count from the
/// extent, and those behind it lie outside the bound, too, so that they are clamped and counted as any others. Indices
/// behind their own extent are zero.
fn look_up(ctx: &mut NodeLowering<'_>, bounded: &BoundedAxis, named: usize) -> Result<(), Problem> {
    let of_indices = ctx.bounds.get(1).cloned().unwrap_or_default();
    masks::mask(ctx, 1, &of_indices, Neutral::Zero)?;
    shift_where(ctx, Binary::GreaterEqual, bounded, named)?;
    shift_where(ctx, Binary::Less, bounded, named)
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
            None => shift_where(ctx, Binary::Less, bounded, named)?,
        }
    }
    // An index outside every axis.
    let most = ctx.operand(0)?.dims().get(..named).unwrap_or_default().iter().max().copied().unwrap_or(0);
    masks::mask(ctx, 1, &of_indices, Neutral::Place(most))?;
    Ok(Some(of_data))
}

/// Indices behind their extent become such that name no place, so that nothing is written for them.
pub(super) fn scatter_elements(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let data = ctx.operand(0)?;
    let along = ctx.axis(data.dims().len(), 0)?;
    let [of_data, of_indices, of_updates] = [0, 1, 2].map(|i| ctx.bounds.get(i).cloned().unwrap_or_default());
    // All three have the same extents along the other axes, and what is written has an index for each place.
    let others = |bounds: &[BoundedAxis]| bounds.iter().filter(|bounded| bounded.axis != along).count();
    let are_alike = of_indices.len() == of_updates.len()
        && of_indices.iter().all(|bounded| is_among(bounded, &of_updates))
        && others(&of_data) == others(&of_indices)
        && of_data.iter().all(|bounded| bounded.axis == along || is_among(bounded, &of_indices));
    if !are_alike {
        return Ok(None);
    }
    let is_along = |bounded: &&BoundedAxis| bounded.axis == along;
    let extent = of_data.iter().find(is_along);
    let written: Vec<BoundedAxis> = of_indices.iter().filter(is_along).cloned().collect();
    let indices = ctx.operand(1)?;
    if let Some(array) = indices.known() {
        return Ok((extent.is_none() || array.to_f32().iter().all(|&index| index >= 0.0)).then_some(of_data));
    }
    // Adapted before they are repeated along other axes.
    let repeated = ctx.lowering.before_repeating(&indices).cloned();
    if let Some(list) = &repeated {
        ctx.operands[1] = Some(Value::Computed(list.clone()));
    }
    if let Some(bounded) = extent {
        shift_where(ctx, Binary::Less, &bounded.on(0), 1)?;
    }
    masks::mask(ctx, 1, &written, Neutral::Place(data.dims()[along]))?;
    if repeated.is_some() {
        let list = ctx.operand(1)?;
        ctx.operands[1] = Some(lower::expanded(ctx, &list, indices.dims())?);
    }
    Ok(Some(of_data))
}

/// Moves indices of one of the axes that a tuple names by the places between extent and bound: forwards from the extent on
/// (`GreaterEqual`), or backwards below zero (`Less`), so that negative ones count from the extent.
fn shift_where(
    ctx: &mut NodeLowering<'_>,
    compared: Binary,
    bounded: &BoundedAxis,
    named: usize,
) -> Result<(), Problem> {
    let indices = ctx.operand(1)?;
    let is_own = Value::integers((0..named).map(|axis| i64::from(axis == bounded.axis)).collect());
    let two = |ctx: &mut NodeLowering<'_>, binary, a: &Value, b: &Value| {
        lower::two(ctx, binary, a, b, ElementType::I64).map(Value::Computed)
    };
    let count = Value::Computed(bounded.size.count.clone());
    let missing = two(ctx, Binary::Sub, &Value::integers(vec![bounded.size.bound as i64]), &count)?;
    let shift = two(ctx, Binary::Mul, &missing, &is_own)?;
    let (limit, moved) = match compared {
        Binary::Less => (Value::integers(vec![0]), Binary::Sub),
        _ => (count, Binary::Add),
    };
    let is_beyond = two(ctx, compared, &indices, &limit)?;
    let shift = two(ctx, Binary::ZeroUnless, &is_beyond, &shift)?;
    let indices_moved = two(ctx, moved, &indices, &shift)?;
    // An index without axes stays one: the extent has an axis.
    ctx.operands[1] = Some(lower::reshaped(ctx.lowering, &indices_moved, indices.dims())?);
    Ok(())
}
