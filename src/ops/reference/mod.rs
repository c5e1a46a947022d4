//! The CPU references: what each kernel must answer, in plain loops over dense `B, H, W, C` arrays of 32-bit floats.
//!
//! They are slow and meant to be obviously right. Knows no texture, no placement and no shader. The graph must have
//! passed its checker: extents are taken at their word.

pub(crate) mod conv;
pub(crate) mod dense;
mod epilogue;
pub(crate) mod grid_sample;
pub(crate) mod line;
pub(crate) mod moves;
mod operands;
pub(crate) mod pixel;
pub(crate) mod pool;
pub(crate) mod reduce;
pub(crate) mod resize;
mod run;
pub(crate) mod shuffle;
mod view;

pub(crate) use operands::Operands;
pub use operands::ReferenceError;
pub use run::{graph, node, outputs};
