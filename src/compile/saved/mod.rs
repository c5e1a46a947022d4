//! Plans as bytes: compiled once, loaded again without a search.
//!
//! What is saved are decisions: rules, texel format, what is written in place, segments with their phases, and where
//! rows lie. Loading rewrites and schedules the model as compiling does and has the plan checked by the same checkers,
//! so nothing of the bytes is trusted, and steps and weights need not be among them.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `texplan` and a zero |
//! | 2 | version of this format |
//! | 8 | length of all |
//! | 8 | FNV-1a of what follows |
//! | 8 | fingerprint of the rewritten graph |
//! | rest | decisions, then textures and placements, as numbers in LEB128 |
//!
//! Numbers of fixed length have their least byte first.

mod decisions;
mod error;
mod fingerprint;
mod fnv;
mod frame;
mod load;
mod placements;
mod reader;
mod save;
mod writer;

pub use error::SavedPlanError;
pub use load::load;
