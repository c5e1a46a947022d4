//! Converts sparse constants to dense ones. Supports traversal orders, blocks, and levels that are dense or
//! compressed (CSR).
//!
//! Format: "TensorFlow Lite schema, SparsityParameters", after the TACO papers. Each level subdivides every position
//! of the level above. A dense level uses all of its indices, a compressed one the indices listed for that position.
//! The positions of the last level are the stored values, in order.

use super::schema::Sparsity;
use crate::import::{
    error::Problem,
    meter::{Excess, Meter},
};

const COMPRESSED: i8 = 1;

/// Returns the dense bytes of a sparse tensor with extents `dims` and elements of `size` bytes.
pub(super) fn densify(
    sparsity: &Sparsity<'_>,
    dims: &[usize],
    values: &[u8],
    size: usize,
    meter: &mut Meter,
) -> Result<Vec<u8>, Problem> {
    let malformed = |what: &str| Problem::malformed(format!("its sparse values: {what}"));
    let order = indices(sparsity.traversal_order()).ok_or_else(|| malformed("no traversal order"))?;
    let blocks = indices(sparsity.block_map()).unwrap_or_default();
    let levels = sparsity.dimensions().unwrap_or_default();
    if order.len() != dims.len() + blocks.len() || levels.len() != order.len() {
        return Err(malformed("levels, axes and blocks do not agree in number"));
    }
    let mut seen = vec![false; order.len()];
    for &axis in &order {
        match seen.get_mut(axis) {
            // An axis listed twice would be counted twice in the positions below, and another axis would be missing.
            Some(seen) if !*seen => *seen = true,
            _ => return Err(malformed("the traversal order is no permutation")),
        }
    }

    // Extent of each block, in the order of the block map. A block's level is always dense and states the extent.
    let mut block_of = vec![1; dims.len()];
    for (level, &axis) in levels.iter().zip(&order) {
        if let Some(block) = axis.checked_sub(dims.len()) {
            let extent = usize::try_from(level.dense_size()).unwrap_or(0);
            let blocked = blocks.get(block).and_then(|&axis| Some((dims.get(axis)?, block_of.get_mut(axis)?)));
            match blocked {
                Some((dim, of)) if extent > 0 && *of == 1 && dim.is_multiple_of(extent) => *of = extent,
                _ => return Err(malformed("a block does not divide its axis")),
            }
        }
    }

    let mut strides = vec![1usize; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(dims[axis]);
    }
    let elements = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).and_then(|n| n.checked_mul(size));
    let total = elements.ok_or_else(|| malformed("more than can be addressed"))?;
    let unfolded = |excess: Excess| Problem {
        hint: "convert the model without sparsity",
        ..Problem { reason: format!("its sparse values unfold to {total} bytes: {excess}"), ..excess.into() }
    };
    // Before any level is processed, so that an excessive size is refused at once.
    let zeros = meter.filled(total, std::iter::repeat(0u8)).map_err(unfolded)?;

    let stored = values.len() / size;
    // Every position is either continued by a segment of a later level or is a stored value, so the file limits their
    // number.
    let longest = levels.iter().filter_map(|level| level.segments()).map(|s| s.len()).max().unwrap_or(0);
    let most = stored.max(longest);
    // For the positions of a level and of the one above, and for the two lists of a compressed level.
    meter.memory(most.saturating_mul(4 * size_of::<usize>()))?;
    meter.work(most.saturating_mul(levels.len()).saturating_mul(4))?;
    // For each position of the current level, the dense index of its first element.
    let mut positions = vec![0usize];
    for (level, &axis) in levels.iter().zip(&order) {
        let (extent, stride) = match axis.checked_sub(dims.len()) {
            Some(block) => (block_of[blocks[block]], strides[blocks[block]]),
            None => (dims[axis] / block_of[axis], strides[axis].saturating_mul(block_of[axis])),
        };
        positions = if level.format() == COMPRESSED {
            let segments = level.segments().ok_or_else(|| malformed("a compressed level has no segments"))?;
            let listed = level.indices().ok_or_else(|| malformed("a compressed level has no indices"))?;
            compressed(&positions, &segments, &listed, extent, stride)
        } else if level.format() == 0 {
            if positions.len().checked_mul(extent).is_none_or(|n| n > most) {
                return Err(malformed("fewer values than positions"));
            }
            // The sums cannot overflow: each axis adds less than its extent times its stride, and `total` was
            // checked.
            Some(positions.iter().flat_map(|p| (0..extent).map(move |i| p + i * stride)).collect())
        } else {
            None
        }
        .ok_or_else(|| malformed("segments and indices of a level do not agree"))?;
    }
    if positions.len() != stored || !values.len().is_multiple_of(size) {
        return Err(malformed("values and positions do not agree in number"));
    }
    let mut dense = zeros;
    for (value, position) in values.chunks_exact(size).zip(positions) {
        let start = position * size;
        match dense.get_mut(start..start + size) {
            Some(slot) => slot.copy_from_slice(value),
            None => return Err(malformed("a position lies outside")),
        }
    }
    Ok(dense)
}

fn indices(numbers: Option<Vec<i32>>) -> Option<Vec<usize>> {
    numbers?.into_iter().map(|n| usize::try_from(n).ok()).collect()
}

/// Returns the positions of a compressed level, or `None` if its lists do not match the level above.
fn compressed(
    above: &[usize],
    segments: &[usize],
    listed: &[usize],
    extent: usize,
    stride: usize,
) -> Option<Vec<usize>> {
    let whole = segments.first() == Some(&0) && segments.last() == Some(&listed.len());
    if !whole || segments.len() != above.len() + 1 || !segments.is_sorted() || listed.iter().any(|&i| i >= extent) {
        return None;
    }
    let mut positions = Vec::with_capacity(listed.len());
    for (start, range) in above.iter().zip(segments.windows(2)) {
        positions.extend(listed.get(range[0]..range[1])?.iter().map(|i| start + i * stride));
    }
    Some(positions)
}
