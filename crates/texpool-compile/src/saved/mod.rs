//! Saves plans as bytes, so that a model compiled once can be loaded again without a search.
//!
//! A saved plan holds decisions only: rules, texel format, parts written in place, cascades with their stripes, and
//! locations of rows. Loading rewrites and schedules the model like compiling does, and checks the plan with the same
//! checkers. So the bytes need not be trusted, and steps and weights need not be saved.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `texplan` and a zero byte |
//! | 2 | version of this format |
//! | 8 | total length |
//! | 8 | FNV-1a hash of all following bytes |
//! | 8 | fingerprint of the rewritten graph |
//! | rest | decisions, then textures and placements, as numbers in LEB128 |
//!
//! Fixed-length numbers are little-endian.

mod bytes;
mod decisions;
mod error;
mod fingerprint;
mod frame;
mod load;
mod placements;
mod save;

pub use error::SavedPlanError;
pub use load::load;
