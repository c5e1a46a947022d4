//! Shared by the importers of both formats: axes, extents of results, ranges of slices, borders of windows, finishing
//! the graph, and listing refusals. Independent of the formats.

pub(super) mod axes;
pub(super) mod extents;
pub(super) mod finish;
pub(super) mod graph;
pub(super) mod integers;
pub(super) mod range;
pub(super) mod refusals;
pub(super) mod select;
pub(super) mod window;
