//! Importers, which convert model files to a [`Graph`](crate::graph::Graph).
//!
//! [`Model`](crate::Model) uses them to read files, and takes the same [`ImportOptions`]. Call [`open`] to inspect or
//! change a graph.
//!
//! The contents of a file are never trusted: every shape is inferred again, every constant is checked for size, and
//! the final graph is checked. Resources that a file requests are counted and limited in proportion to its size and
//! stated inputs.
//!
//! [`texpool_model::import`] lists the operators with their limits, and [`operators`] returns them.

#[doc(inline)]
pub use texpool_model::import::{
    Array, BoundDim, Excess, ExtentBound, FakeQuant, FileKind, ImportError, ImportOptions, ModelMetadata, Operator,
    Resource, TooMuch, UnresolvedDim, UnsupportedOp, from_bytes, from_bytes_with, from_bytes_with_metadata, micro,
    open, open_with, open_with_metadata, operators, read_tensor, supported,
};
