//! CPU references, which define the expected result of each kernel: plain loops over dense `B, H, W, C` arrays of
//! 32-bit floats.
//!
//! They are slow and meant to be obviously correct. They are independent of textures, placement and shaders. The
//! graph must have passed its checker, because extents are not verified here.

mod operands;
mod run;
mod view;

pub use operands::ReferenceError;
pub(crate) use operands::{Operands, Reference};
pub use run::{graph, node, outputs};
pub(super) use view::{View, bias_of, dot, each, each_pixel, inside};
