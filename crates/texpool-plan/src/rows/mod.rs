//! Places tensors row by row. Each row is alive from the step that writes it to the last step that reads it, and has
//! a separate offset. All rows of a tensor lie in one texture, and no step reads and writes the same texture.
//!
//! The input is only the list of rows that each step reads and writes. Sizes are in texels.

mod check;
mod improve;
mod items;
mod live_profile;
mod pack;
mod place;
mod problem;
mod realize;
mod textures;

pub use check::check_rows;
pub use improve::{assign_rows, pack_rows};
pub use items::{live_row_peak, row_live_ranges};
pub use place::place_rows;
pub use problem::{LivePeak, LiveRange, RowLayout, RowProblem, RowStep, RowUse};
pub use realize::realize_rows;
pub use textures::{Assigned, AssignmentSearch};
