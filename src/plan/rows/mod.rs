//! Rows placed one by one: every row of every tensor lives from the step that writes it to the last step that reads it,
//! and has a place of its own. A tensor lives in one texture; no step reads and writes the same one.
//!
//! The steps say which rows they touch; nothing here knows why. Sizes are texels.

mod check;
mod items;
mod live_profile;
mod pack;
mod place;
mod problem;
mod realize;
mod textures;

pub use check::check_rows;
pub use items::{live_row_peak, row_lives};
pub use place::place_rows;
pub use problem::{LivePeak, LiveRange, RowLayout, RowProblem, RowStep, RowUse};
pub use realize::realize_rows;
