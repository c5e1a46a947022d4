//! What a slice takes of one axis.

/// Indices of an axis at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) struct AxisRange {
    pub(in crate::import) begin: usize,
    /// From one index to the next; 1 where there are not two.
    pub(in crate::import) stride: isize,
    pub(in crate::import) count: usize,
}

impl AxisRange {
    /// All of an axis.
    pub(in crate::import) const fn whole(extent: usize) -> Self {
        Self { begin: 0, stride: 1, count: extent }
    }

    /// So many indices from one on.
    pub(in crate::import) const fn run(begin: usize, count: usize) -> Self {
        Self { begin, stride: 1, count }
    }

    /// Every `step`th index from `first` up to `last` and without it; none where that lies on the other side. Nothing if
    /// the step is 0, or a number does not fit.
    pub(in crate::import) fn between(first: i64, last: i64, step: i64) -> Option<Self> {
        let distance = if step > 0 { last.checked_sub(first)? } else { first.checked_sub(last)? };
        let count = (step != 0).then(|| distance.max(0).unsigned_abs().div_ceil(step.unsigned_abs()))?;
        // So that ranges of the same indices are equal, whichever step the file states: `whole` is compared with.
        let stride = if count <= 1 { 1 } else { step };
        Some(Self {
            begin: usize::try_from(first).ok()?,
            stride: isize::try_from(stride).ok()?,
            count: usize::try_from(count).ok()?,
        })
    }
}

/// An end of a range as Python reads it: negative numbers count from behind, and what lies beyond the axis is its end in
/// the direction of the step, or one before its first index.
pub(in crate::import) fn clamped(index: i64, extent: usize, step: i64) -> i64 {
    let size = extent as i64;
    let (lowest, highest) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let counted = if index < 0 { index.saturating_add(size) } else { index };
    counted.clamp(lowest, highest)
}
