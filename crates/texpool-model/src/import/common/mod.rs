//! Shared by the importers of both formats: axes, extents of results, ranges of slices, borders of windows, planes of
//! volumes, adding to the graph and finishing it, and listing refusals. Independent of the formats.

pub(super) mod axes;
pub(super) mod extents;
pub(super) mod finish;
pub(super) mod graph;
mod index_casts;
pub(super) mod layer_integers;
pub(super) mod loops;
pub(super) mod planes;
pub(super) mod recurrent;
pub(super) mod refusals;
pub(super) mod waves;
pub(super) mod window;
