//! The CPU references: what each kernel must answer, in plain loops over dense `B, H, W, C` arrays of 32-bit floats.
//!
//! They are slow and meant to be obviously right. Knows no texture, no placement and no shader. The graph must have
//! passed its checker: extents are taken at their word.

mod epilogue;
mod operands;
mod run;
pub(super) mod view;

pub(crate) use operands::Operands;
pub use operands::ReferenceError;
pub use run::{graph, node, outputs};
