//! CPU references, which define the expected result of each kernel: plain loops over dense `B, H, W, C` arrays of
//! 32-bit floats.
//!
//! They are slow and meant to be obviously correct. They are independent of textures, placement and shaders. The
//! graph must have passed its checker, because extents are not verified here.

mod epilogue;
mod operands;
mod run;
pub(super) mod view;

pub(crate) use operands::Operands;
pub use operands::ReferenceError;
pub use run::{graph, node, outputs};
