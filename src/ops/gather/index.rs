//! Which element an index names, for operators that look elements up.

/// The element of an axis of `extent` that `index` names: counted from the end where it is negative, held inside where
/// it is not there.
pub(crate) fn named(index: f32, extent: usize) -> usize {
    // The cast saturates and makes 0 of NaN, so that every float names an element.
    let index = index as isize;
    let from_start = if index < 0 { index.saturating_add_unsigned(extent) } else { index };
    // `clamp` panics where the upper bound is below the lower one.
    from_start.clamp(0, (extent as isize - 1).max(0)).unsigned_abs()
}
