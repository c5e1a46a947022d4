//! Known values that hold extents which a run gives or finds: the shape arithmetic that exporters write.
//!
//! Such a value is known with the bound in place of the extent. Operators that only move elements keep account of which
//! of them are extents, and sums, multiples and parts of extents are extents that follow from these. For all other
//! operators, an extent becomes a tensor, which a run computes with.

use std::mem;

use super::{
    array::{Array, MAX_RANK},
    derived_extents::{derived, difference, limited},
    layout::AtomLayout,
    lower::kept_range,
    node_lowering::NodeLowering,
    op_registry::OnnxOpEntry,
    value::{BoundedAxis, Computed, MOST_PLACES, Size, Sizes, Value},
};
use crate::import::error::Problem;
use texpool_ops::graph::{Binary, ElementType};

/// Most places of an extent.
const MOST: i64 = MOST_PLACES as i64;

/// Operators that move elements, and which of their operands hold those.
const MOVES: [(&str, &[usize]); 12] = [
    ("Cast", &[0]),
    ("Concat", &[]),
    ("Expand", &[0]),
    ("Flatten", &[0]),
    ("Gather", &[0]),
    ("Identity", &[0]),
    ("Reshape", &[0]),
    ("Slice", &[0]),
    ("Split", &[0]),
    ("Squeeze", &[0]),
    ("Unsqueeze", &[0]),
    ("Where", &[1, 2]),
];

/// Returns the elements of a Shape that are extents of a run.
pub(super) fn of_shape(ctx: &NodeLowering<'_>, bounds: &[BoundedAxis]) -> Result<Sizes, Problem> {
    let rank = ctx.operand(0)?.dims().len();
    let size = |axis: usize| bounds.iter().find(|bounded| bounded.axis == axis).map(|bounded| bounded.size.clone());
    Ok(kept_range(ctx, rank)?.map(size).collect())
}

/// Returns the extents that the results of a node hold if it moves or compares known elements. `None` if it computes with
/// them.
pub(super) fn of_results(
    ctx: &mut NodeLowering<'_>,
    entry: &OnnxOpEntry,
    own: &str,
) -> Result<Option<Vec<Sizes>>, Problem> {
    if ctx.operands.iter().flatten().any(|value| value.known().is_none()) {
        return Ok(None);
    }
    if own == "Equal" {
        return Ok(never_equal(ctx).then(Vec::new));
    }
    for arithmetic in [scaled, reduced] {
        if let Some(sizes) = arithmetic(ctx, own)? {
            return Ok(Some(vec![sizes]));
        }
    }
    let Some((_, moved)) = MOVES.iter().find(|(name, _)| *name == own) else { return Ok(None) };
    let is_moved = |position: usize| moved.is_empty() || moved.contains(&position);
    if ctx.sizes.iter().enumerate().any(|(position, sizes)| !sizes.is_empty() && !is_moved(position)) {
        return Ok(None);
    }
    let Some(fold) = entry.fold else { return Ok(None) };
    // Moves the numbers of the extents, counted from one, in place of the elements.
    let all: Vec<Size> = ctx.sizes.iter().flatten().flatten().cloned().collect();
    let mut next = 0;
    let mut number = |size: Option<&Size>| {
        next += i64::from(size.is_some());
        if size.is_some() { next } else { 0 }
    };
    let mut numbered = Vec::with_capacity(ctx.operands.len());
    for (position, operand) in ctx.operands.iter().enumerate() {
        numbered.push(match operand {
            Some(value) if is_moved(position) => {
                let sizes = ctx.sizes.get(position).map(Vec::as_slice).unwrap_or_default();
                let numbers = (0..value.len()).map(|i| number(sizes.get(i).and_then(Option::as_ref))).collect();
                Some(Value::Known(Array::of_ints(value.dims().to_vec(), ElementType::I64, numbers)))
            }
            other => other.clone(),
        });
    }
    let operands = mem::replace(&mut ctx.operands, numbered);
    let folded = fold(ctx);
    ctx.operands = operands;
    folded?;
    let results = ctx.results.iter_mut().map(Option::take).collect::<Vec<_>>();
    let sizes = |value: &Value| -> Option<Sizes> {
        let numbers = value.known().filter(|array| array.element_type() != ElementType::Bool)?.to_f32();
        Some(numbers.iter().map(|&number| all.get((number as usize).checked_sub(1)?).cloned()).collect())
    };
    Ok(results.iter().map(|result| result.as_ref().map_or(Some(Sizes::new()), sizes)).collect())
}

/// Returns the extents that the result of integer arithmetic with numbers holds: multiples and parts of extents, sums with
/// numbers, and differences. `None` for other operators, and if a result may be negative.
fn scaled(ctx: &mut NodeLowering<'_>, own: &str) -> Result<Option<Sizes>, Problem> {
    let [a, b] = [0, 1].map(|position| ctx.sizes.get(position).cloned().unwrap_or_default());
    if let ([Some(size)], [Some(less)], "Sub") = (&a[..], &b[..], own) {
        return subtracted(ctx, size, less);
    }
    let (sizes, other) = if a.is_empty() { (b, 0) } else { (a, 1) };
    if !ctx.sizes.get(other).is_none_or(Vec::is_empty) || (other == 0 && !["Add", "Mul", "Sub"].contains(&own)) {
        return Ok(None);
    }
    let Some(numbers) =
        ctx.optional(other).as_ref().and_then(Value::known).and_then(Array::to_i64).map(<[i64]>::to_vec)
    else {
        return Ok(None);
    };
    let len = sizes.len().max(numbers.len());
    if [sizes.len(), numbers.len()].iter().any(|&own| own != len && own != 1) || len > MAX_RANK {
        return Ok(None);
    }
    let mut result = Sizes::with_capacity(len);
    for place in 0..len {
        let (size, number) = (&sizes[place % sizes.len()], numbers[place % numbers.len()]);
        if number.unsigned_abs() > MOST_PLACES as u64 {
            return Ok(None);
        }
        let formula = match own {
            "Add" => [1, number, 1],
            "Sub" if other == 0 => [-1, number, 1],
            "Sub" => [1, -number, 1],
            "Mul" => [number, 0, 1],
            "Div" => [1, 0, number],
            _ => return Ok(None),
        };
        let [factor, more, stride] = formula;
        let Some(size) = size else {
            result.push(None);
            continue;
        };
        let ends = [size.least, size.bound].map(|extent| factor * extent as i64 + more);
        if factor == 0 || stride <= 0 || ends.iter().any(|end| !(0..=MOST).contains(end)) {
            return Ok(None);
        }
        result.push(Some(derived(ctx, size, formula)?));
    }
    Ok(Some(result))
}

/// Returns the extent that the least, the greatest or the product of numbers and one extent is. `None` for other operators,
/// and for several extents.
fn reduced(ctx: &mut NodeLowering<'_>, own: &str) -> Result<Option<Sizes>, Problem> {
    let (binary, operands) = match own {
        "Min" => (Binary::Minimum, ctx.operands.len()),
        "Max" => (Binary::Maximum, ctx.operands.len()),
        "ReduceMin" => (Binary::Minimum, 1),
        "ReduceMax" => (Binary::Maximum, 1),
        "ReduceProd" => (Binary::Mul, 1),
        _ => return Ok(None),
    };
    let reduces = own.starts_with("Reduce");
    let (mut extent, mut limits): (Option<Size>, Vec<i64>) = (None, Vec::new());
    for position in 0..operands {
        let value = ctx.operand(position)?;
        let Some(numbers) = value.known().and_then(Array::to_i64) else { return Ok(None) };
        // The result must have one element: of an axis that is reduced, or of operands that have one each.
        let rank = value.dims().len();
        if rank > 1 || (reduces && ctx.reduced_axes(rank)?.is_none()) || (!reduces && numbers.len() != 1) {
            return Ok(None);
        }
        let sizes = ctx.sizes.get(position).map(Vec::as_slice).unwrap_or_default();
        for (place, &number) in numbers.iter().enumerate() {
            match (sizes.get(place).and_then(Option::as_ref), &extent) {
                (None, _) => limits.push(number),
                (Some(size), None) => extent = Some(size.clone()),
                (Some(size), Some(other)) if size.is_like(other) && binary != Binary::Mul => {}
                (Some(_), Some(_)) => return Ok(None),
            }
        }
    }
    let Some(mut size) = extent else { return Ok(None) };
    if binary == Binary::Mul {
        let factor = limits.iter().try_fold(1i64, |product, &number| product.checked_mul(number));
        let places = factor.and_then(|factor| factor.checked_mul(size.bound as i64));
        return match (factor, places) {
            (Some(factor @ 1..), Some(0..=MOST)) => Ok(Some(vec![Some(derived(ctx, &size, [factor, 0, 1])?)])),
            _ => Ok(None),
        };
    }
    for limit in limits {
        // A number that no extent reaches is as good as the greatest extent.
        let limit = usize::try_from(limit).unwrap_or(0).min(MOST_PLACES);
        match limited(ctx, &size, binary, limit)? {
            Some(other) => size = other,
            None => return Ok(Some(Sizes::new())),
        }
    }
    Ok(Some(vec![Some(size)]))
}

/// Returns by how much an extent is greater than another one: a number, or an extent.
fn subtracted(ctx: &mut NodeLowering<'_>, size: &Size, less: &Size) -> Result<Option<Sizes>, Problem> {
    Ok(match difference(ctx, size, less) {
        // The bounds differ by the same number.
        Some((_, [0, more])) if more >= 0 => Some(Sizes::new()),
        Some((from, [factor, more])) if factor > 0 && factor * from.least as i64 + more >= 0 => {
            Some(vec![Some(derived(ctx, &from, [factor, more, 1])?)])
        }
        _ => None,
    })
}

/// Returns whether a comparison is of extents with numbers that they never are.
fn never_equal(ctx: &NodeLowering<'_>) -> bool {
    let [Some(a), Some(b)] = [0, 1].map(|position| ctx.sizes.get(position)) else { return false };
    let (sizes, other) = if a.is_empty() { (b, 0) } else { (a, 1) };
    let numbers = ctx.optional(other).and_then(|value| value.known().map(|array| array.to_f32().into_owned()));
    let is_apart = |size: &Size| {
        let possible = size.least as f32..=size.bound as f32;
        numbers.iter().flatten().all(|number| !possible.contains(number))
    };
    ctx.sizes.get(other).is_some_and(Vec::is_empty) && sizes.iter().flatten().all(is_apart)
}

/// Turns operands that are an extent into tensors, which a run computes with.
pub(super) fn to_tensors(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    for position in 0..ctx.operands.len() {
        if let (Some(value), Some(sizes)) = (ctx.operands[position].take(), ctx.sizes.get(position)) {
            ctx.operands[position] = Some(as_tensor(value, sizes)?);
        }
    }
    Ok(())
}

/// Returns a value that is an extent as a tensor. Others are returned as they are.
pub(super) fn as_tensor(value: Value, sizes: &[Option<Size>]) -> Result<Value, Problem> {
    match sizes {
        [Some(size)] => {
            let dims = value.dims().to_vec();
            let layout = AtomLayout::natural(&dims);
            Ok(Value::Computed(Computed { dims, layout, elem: value.element_type(), ..size.count.clone() }))
        }
        sizes => match sizes.iter().flatten().next() {
            Some(Size { bound, .. }) => {
                let reason =
                    format!("it computes with extents, one of which is found in a run, and is at most {bound}");
                Err(Problem::unsupported(reason))
            }
            None => Ok(value),
        },
    }
}
