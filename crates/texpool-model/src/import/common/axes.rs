//! Resolves axis numbers of files, and the indices that a slice selects along an axis.

use crate::import::error::Problem;

/// Resolves an axis number, which counts from the end if negative.
pub(in crate::import) fn axis(index: i64, rank: usize) -> Result<usize, Problem> {
    let counted = if index < 0 { index.checked_add(rank as i64) } else { Some(index) };
    counted
        .and_then(|i| usize::try_from(i).ok())
        .filter(|&i| i < rank)
        .ok_or_else(|| Problem::malformed(format!("there is no axis {index} of {rank}")))
}

/// Resolves axes in the given order, and refuses duplicates.
pub(in crate::import) fn named_axes(indices: &[i64], rank: usize) -> Result<Vec<usize>, Problem> {
    let axes = indices.iter().map(|&index| axis(index, rank)).collect::<Result<Vec<_>, _>>()?;
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    match sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(Problem::malformed(format!("its axes {indices:?} name one twice"))),
        false => Ok(axes),
    }
}

/// Resolves axes in ascending order, and refuses duplicates.
pub(in crate::import) fn sorted_axes(indices: &[i64], rank: usize) -> Result<Vec<usize>, Problem> {
    let mut axes = named_axes(indices, rank)?;
    axes.sort_unstable();
    Ok(axes)
}

/// Resolves a permutation of all axes.
pub(in crate::import) fn permutation(indices: &[i64], rank: usize) -> Result<Vec<usize>, Problem> {
    let perm = named_axes(indices, rank)?;
    if perm.len() == rank {
        return Ok(perm);
    }
    Err(Problem::malformed(format!("{indices:?} is no permutation of {rank} axes")))
}

/// Equidistant indices along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) struct AxisRange {
    pub(in crate::import) begin: usize,
    /// Distance of consecutive indices; 1 if there are fewer than two.
    pub(in crate::import) stride: isize,
    pub(in crate::import) count: usize,
}

impl AxisRange {
    /// Selects a whole axis.
    pub(in crate::import) const fn whole(extent: usize) -> Self {
        Self { begin: 0, stride: 1, count: extent }
    }

    /// Selects `count` consecutive indices.
    pub(in crate::import) const fn run(begin: usize, count: usize) -> Self {
        Self { begin, stride: 1, count }
    }

    /// Selects every `step`th index from `first` up to but not including `last`; empty if `last` lies in the other
    /// direction. `None` if the step is 0 or a number does not fit.
    pub(in crate::import) fn between(first: i64, last: i64, step: i64) -> Option<Self> {
        let distance = if step > 0 { last.checked_sub(first)? } else { first.checked_sub(last)? };
        let count = (step != 0).then(|| distance.max(0).unsigned_abs().div_ceil(step.unsigned_abs()))?;
        // Normalised, so that ranges of the same indices are equal whatever step the file states. Callers compare
        // with `whole`.
        let stride = if count <= 1 { 1 } else { step };
        Some(Self {
            begin: usize::try_from(first).ok()?,
            stride: isize::try_from(stride).ok()?,
            count: usize::try_from(count).ok()?,
        })
    }
}

/// Resolves the end of a range like Python: negative numbers count from the end of the axis. Out-of-range numbers are
/// clamped to the end of the axis, or for negative steps to one before its first index.
pub(in crate::import) fn clamped(index: i64, extent: usize, step: i64) -> i64 {
    let size = extent as i64;
    let (lowest, highest) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let counted = if index < 0 { index.saturating_add(size) } else { index };
    counted.clamp(lowest, highest)
}
