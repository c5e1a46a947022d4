//! Interpretation of indices, shared by operators that look up elements.

/// Returns the element of an axis of `extent` for `index`. Negative indices count from the end; indices outside are
/// clamped.
pub(crate) fn named(index: f32, extent: usize) -> usize {
    // The cast saturates and maps NaN to 0, so every float selects an element.
    let index = index as isize;
    let from_start = if index < 0 { index.saturating_add_unsigned(extent) } else { index };
    // `clamp` panics if the upper limit is below the lower one.
    from_start.clamp(0, (extent as isize - 1).max(0)).unsigned_abs()
}
