//! Computing on the host what is known before any run: shape arithmetic exactly, and what little else exporters leave.
//! Knows no graph.

pub(super) mod math;
pub(super) mod reduce;
