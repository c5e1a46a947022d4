//! Rules of products of matrices along axes whose extent a run gives or finds.

use super::{
    bounded_axes::rank,
    bounded_operands::agreed,
    lower::einsum_indices,
    masks::{self, Neutral},
    node_lowering::NodeLowering,
    value::BoundedAxis,
};
use crate::import::error::Problem;

/// Axes of a product, and the summed axis of each of its operands.
type OuterAndSummed = (Vec<BoundedAxis>, [Option<BoundedAxis>; 2]);

/// Returns the axes of the product of two operands that have such an extent, and those that are summed. Rows and
/// columns are computed one by one. `None` if the operands do not agree.
fn outer_and_summed(
    ctx: &NodeLowering<'_>,
    positions: [usize; 2],
    transposed: [bool; 2],
) -> Result<Option<OuterAndSummed>, Problem> {
    let ranks = positions.map(|position| rank(ctx, position));
    let mut summed: [Option<BoundedAxis>; 2] = [None, None];
    let mut outer: Vec<(Vec<usize>, Vec<BoundedAxis>)> = Vec::new();
    let batches = ranks.iter().max().copied().unwrap_or(2).max(2) - 2;
    let mut passed = Vec::new();
    for (side, &rank) in ranks.iter().enumerate() {
        let dims = ctx.operand(positions[side])?.dims().to_vec();
        let mut own = Vec::new();
        for bounded in &ctx.bounds[positions[side]] {
            let is_matrix = rank >= 2 && bounded.axis + 2 >= rank;
            let last = bounded.axis + 1 == rank;
            // The summed axis of the first matrix is the last one, that of the second the last but one.
            let is_summed = rank == 1 || (is_matrix && (last != transposed[side]) == (side == 0));
            if is_summed {
                summed[side] = Some(bounded.clone());
            } else if is_matrix {
                let has_rows = usize::from(side == 1 && ranks[0] >= 2);
                passed.push(bounded.on(batches + has_rows));
            } else {
                own.push(bounded.clone());
            }
        }
        outer.push((dims[..rank.saturating_sub(2)].to_vec(), own));
    }
    for axis in 0..batches {
        match agreed(&outer, batches, axis) {
            Some(common) => passed.extend(common),
            None => return Ok(None),
        }
    }
    Ok(Some((passed, summed)))
}

/// Sums over such an extent read zeros behind it.
pub(super) fn product(ctx: &mut NodeLowering<'_>, transposed: [bool; 2]) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let Some((passed, summed)) = outer_and_summed(ctx, [0, 1], transposed)? else { return Ok(None) };
    match summed {
        [None, None] => {}
        [Some(a), Some(b)] if a.size.is_like(&b.size) => {
            masks::mask(ctx, 0, &[a], Neutral::Zero)?;
            masks::mask(ctx, 1, &[b], Neutral::Zero)?;
        }
        _ => return Ok(None),
    }
    Ok(Some(passed))
}

/// A product of integers with zero points is not summed over such an extent, because a zero has another value there.
pub(super) fn product_of_integers(
    ctx: &NodeLowering<'_>,
    positions: [usize; 2],
) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let mut others = ctx.bounds.iter().enumerate().filter(|(position, _)| !positions.contains(position));
    if others.any(|(_, bounds)| !bounds.is_empty()) {
        return Ok(None);
    }
    let product = outer_and_summed(ctx, positions, [false; 2])?;
    Ok(product.and_then(|(passed, summed)| summed.iter().all(Option::is_none).then_some(passed)))
}

/// Each row of the first operand is computed alone.
pub(super) fn rows(ctx: &NodeLowering<'_>) -> Option<Vec<BoundedAxis>> {
    let is_row = |bounded: &BoundedAxis| bounded.axis + 1 < rank(ctx, 0);
    let is_alone = ctx.bounds.iter().skip(1).all(Vec::is_empty);
    (is_alone && ctx.bounds[0].iter().all(is_row)).then(|| ctx.bounds[0].clone())
}

/// The addend has the extents of the product, or repeats along them.
pub(super) fn gemm(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let transposed = [ctx.flag("transA", false)?, ctx.flag("transB", false)?];
    let Some(passed) = product(ctx, transposed)? else { return Ok(None) };
    let Some(addend) = ctx.optional(2) else { return Ok(Some(passed)) };
    let bounds = ctx.bounds.get(2).cloned().unwrap_or_default();
    let own = |bounded: &BoundedAxis| (bounded.axis + addend.dims().len()).checked_sub(2);
    let fits = |bounded: &BoundedAxis| match own(bounded) {
        Some(axis) => match bounds.iter().find(|own| own.axis == axis) {
            Some(own) => own.size.is_like(&bounded.size),
            None => addend.dims()[axis] == 1,
        },
        None => true,
    };
    let is_passed = |own: &BoundedAxis| passed.iter().any(|to| to.axis == own.axis + 2 - addend.dims().len());
    Ok((passed.iter().all(fits) && bounds.iter().all(is_passed)).then_some(passed))
}

/// Each index with such an extent has it in all operands. Those that the result does not name are summed, over zeros
/// behind the extent.
pub(super) fn einsum(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let (terms, result) = einsum_indices(ctx)?;
    let mut open: Vec<(char, BoundedAxis)> = Vec::new();
    for (term, bounds) in terms.iter().zip(&ctx.bounds) {
        open.extend(bounds.iter().map(|bounded| (term[bounded.axis], bounded.clone())));
    }
    let has_it = |(index, bounded): &(char, BoundedAxis)| {
        let alike = open.iter().filter(|(other, _)| other == index);
        let named = terms.iter().flatten().filter(|other| *other == index).count();
        let is_once = terms.iter().all(|term| term.iter().filter(|other| *other == index).count() < 2);
        is_once && alike.clone().count() == named && alike.clone().all(|(_, other)| other.size.is_like(&bounded.size))
    };
    if !open.iter().all(has_it) {
        return Ok(None);
    }
    for (position, term) in terms.iter().enumerate() {
        let is_summed = |bounded: &&BoundedAxis| !result.contains(&term[bounded.axis]);
        let summed: Vec<BoundedAxis> = ctx.bounds[position].iter().filter(is_summed).cloned().collect();
        masks::mask(ctx, position, &summed, Neutral::Zero)?;
    }
    let passed = result.iter().enumerate().filter_map(|(axis, index)| {
        let (_, bounded) = open.iter().find(|(own, _)| own == index)?;
        Some(bounded.on(axis))
    });
    Ok(Some(passed.collect()))
}
