//! What both formats mean by the same words (axes, extents of results, ranges of slices, borders of windows), and what is
//! done to the graph and with refusals whichever the format. Knows no format.

pub(super) mod axes;
pub(super) mod extents;
pub(super) mod finish;
pub(super) mod graph;
pub(super) mod integers;
pub(super) mod range;
pub(super) mod refusals;
pub(super) mod select;
pub(super) mod window;
