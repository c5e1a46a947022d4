//! The memory planner: usage records in, plans out. Knows no graph, no GPU and no file.
//!
//! Sizes are in whatever unit the caller counts in (bytes, texels); every algorithm is unit-free.

mod banks;
mod best;
mod bounds;
mod check;
pub mod engines;
mod error;
mod exact;
mod layout;
pub mod offsets;
mod parallel;
mod placement;
mod profile;
mod random;
mod realize;
mod record;
mod rows;
pub mod shared;
mod strategy;
mod uses;

pub use banks::banks;
pub use best::{Best, Budget, Candidate, Choice, best, choose};
pub use bounds::{Bounds, bounds, naive_total};
pub use check::{check, check_layout};
pub use error::PlanError;
pub use exact::{Certificate, Optimum, Prices, Progress, Proof, optimum, verify_certificate};
pub use layout::{Layout, Place, Problem};
pub use parallel::reallocation_graph;
pub use placement::{Evidence, Placement, Plan, RowTable, TexelFormat, TextureSpec};
pub use profile::operator_profiles;
pub use realize::{TensorRows, TextureLimits, realize};
pub use record::UsageRecord;
pub use rows::{
    Life, RowEffort, RowLayout, RowProblem, RowStep, RowUse, check_rows, live_row_bound, place_rows, realize_rows,
    row_lives,
};
pub use strategy::Strategy;
pub use uses::{MAX_STEPS, StepUse, uses_from_records};
