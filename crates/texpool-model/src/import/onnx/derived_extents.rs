//! Extents that follow from others which a run gives or finds.

use super::{
    array::Array,
    graph_lowering::GraphLowering,
    node_lowering::NodeLowering,
    value::{Computed, Size},
};
use crate::import::error::Problem;
use texpool_ops::graph::{Binary, ElementType, Op};

/// Returns `(factor * n + more) / stride`, rounded down, for an extent `n`. Equal formulas of one extent are computed once,
/// so that branches of a network have the same extent. Multiples and sums are traced back to the extent that they were
/// computed from. If a cache adds places and a window removes as many, the result is that extent again.
pub(super) fn derived(ctx: &mut NodeLowering<'_>, size: &Size, formula: [i64; 3]) -> Result<Size, Problem> {
    derived_in(ctx.lowering, size, formula)
}

/// Returns `(factor * n + more) / stride` for an extent of the graph.
pub(super) fn derived_in(
    lowering: &mut GraphLowering,
    size: &Size,
    [factor, more, stride]: [i64; 3],
) -> Result<Size, Problem> {
    // A multiple of the stride stays a whole number of places.
    let formula @ [factor, more, stride] = match factor % stride {
        0 => [factor / stride, more.div_euclid(stride), 1],
        _ => [factor, more, stride],
    };
    if formula == [1, 0, 1] {
        return Ok(size.clone());
    }
    if let Some((from, [own_factor, own_more])) = lowering.open.sources.get(&size.count.tensor).cloned() {
        return derived_in(lowering, &from, [factor * own_factor, factor * own_more + more, stride]);
    }
    let Size { count, least, bound } = size;
    let places = |n: usize| (factor * n as i64 + more).div_euclid(stride).max(0) as usize;
    // A number minus the extent is least for the greatest one.
    let ends = [places(*least), places(*bound)];
    let [least, bound] = if factor < 0 { [ends[1], ends[0]] } else { ends };
    let key = (count.tensor, formula);
    let tensor = match lowering.open.derived.get(&key) {
        Some(&known) => known,
        None => {
            let shape = count.layout.shape();
            let mut tensor = count.tensor;
            for (binary, number) in [(Binary::Mul, factor), (Binary::Add, more), (Binary::FloorDiv, stride)] {
                if number != i64::from(binary != Binary::Add) {
                    let number = Array::of_ints(vec![1], ElementType::I64, vec![number]);
                    let number = lowering.constant(&number, shape)?;
                    tensor = lowering.emit(Op::Binary(binary), &[tensor, number], shape)?;
                }
            }
            lowering.open.record(size, formula, tensor);
            tensor
        }
    };
    Ok(Size { count: Computed { tensor, ..count.clone() }, least, bound })
}

/// Returns the sum of two extents. Equal sums are computed once.
pub(super) fn sum(ctx: &mut NodeLowering<'_>, a: &Size, b: &Size) -> Result<Size, Problem> {
    let [(from, [factor, more]), (other, [other_factor, other_more])] = [a, b].map(|size| source(ctx, size));
    if from.is_like(&other) {
        return derived(ctx, &from, [factor + other_factor, more + other_more, 1]);
    }
    let operands = [a.count.tensor, b.count.tensor];
    let tensor = match ctx.lowering.open.sums.get(&operands) {
        Some(&known) => known,
        None => {
            let tensor = ctx.lowering.emit(Op::Binary(Binary::Add), &operands, a.count.layout.shape())?;
            ctx.lowering.open.sums.insert(operands, tensor);
            tensor
        }
    };
    let count = Computed { tensor, ..a.count.clone() };
    Ok(Size { count, least: a.least + b.least, bound: a.bound + b.bound })
}

/// Returns the smaller of an extent and a number, or with [`Binary::Maximum`] the greater. `None` if that is the number in
/// each run.
pub(super) fn limited(
    ctx: &mut NodeLowering<'_>,
    size: &Size,
    binary: Binary,
    number: usize,
) -> Result<Option<Size>, Problem> {
    let Size { count, least, bound } = size;
    let [always, never] = match binary {
        Binary::Minimum => [number >= *bound, number <= *least],
        _ => [number <= *least, number >= *bound],
    };
    if always || never {
        return Ok(always.then(|| size.clone()));
    }
    let shape = count.layout.shape();
    let operand = Array::of_ints(vec![1], ElementType::I64, vec![number as i64]);
    let operand = ctx.lowering.constant(&operand, shape)?;
    let tensor = ctx.lowering.emit(Op::Binary(binary), &[count.tensor, operand], shape)?;
    let (least, bound) = match binary {
        Binary::Minimum => (*least, number),
        _ => (number, *bound),
    };
    Ok(Some(Size { count: Computed { tensor, ..count.clone() }, least, bound }))
}

/// Returns the greatest known number of which the differences between possible extents are multiples.
pub(super) fn step(ctx: &NodeLowering<'_>, size: &Size) -> usize {
    ctx.lowering.open.sources.get(&size.count.tensor).map_or(1, |(_, [factor, _])| factor.unsigned_abs() as usize)
}

/// Returns the extent that this one is a multiple of, and the factor.
pub(super) fn factored(ctx: &NodeLowering<'_>, size: &Size) -> (Size, usize) {
    match ctx.lowering.open.sources.get(&size.count.tensor) {
        Some((from, [factor, 0])) if *factor > 0 => (from.clone(), *factor as usize),
        _ => (size.clone(), 1),
    }
}

/// Returns the extent that this one was computed from, `factor * n + more`, and these numbers.
fn source(ctx: &NodeLowering<'_>, size: &Size) -> (Size, [i64; 2]) {
    ctx.lowering.open.sources.get(&size.count.tensor).cloned().unwrap_or_else(|| (size.clone(), [1, 0]))
}

/// Returns the extent by how much the first of two is greater, `factor * n + more`, with the extent `n` and these numbers.
/// `None` if they do not follow from the same one.
pub(super) fn difference(ctx: &NodeLowering<'_>, size: &Size, less: &Size) -> Option<(Size, [i64; 2])> {
    let [(from, [factor, more]), (other, [own_factor, own_more])] = [size, less].map(|size| source(ctx, size));
    from.is_like(&other).then_some((from, [factor - own_factor, more - own_more]))
}

/// Returns the quotient of two extents, as a numerator and a denominator, if it is the same in each run.
pub(super) fn quotient(ctx: &NodeLowering<'_>, size: &Size, by: &Size) -> Option<[i64; 2]> {
    let [(a, numerator), (b, denominator)] = [size, by].map(|size| factored(ctx, size));
    a.is_like(&b).then_some([numerator as i64, denominator as i64])
}
