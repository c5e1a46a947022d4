//! What both formats mean by the same words: axes, extents of results, ranges of slices, borders of windows, and the list
//! of refusals. Knows no format.

pub(super) mod axes;
pub(super) mod extents;
pub(super) mod range;
pub(super) mod refusals;
pub(super) mod window;
