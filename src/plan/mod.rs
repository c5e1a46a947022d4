//! The memory planner: usage records in, plans out. Knows no graph, no GPU and no file.
//!
//! Sizes are in whatever unit the caller counts in (bytes, texels); every algorithm is unit-free.

mod best;
mod bounds;
mod check;
mod error;
mod exact;
mod layout;
mod placement;
mod profile;
mod realize;
mod record;
pub mod shared;
mod strategy;
mod uses;

pub use best::{Best, Budget, Candidate, best};
pub use bounds::{Bounds, bounds, naive_total};
pub use check::{check, check_layout};
pub use error::PlanError;
pub use exact::{Certificate, Optimum, Prices, Progress, Proof, optimum, verify_certificate};
pub use layout::{Layout, Place, Problem};
pub use placement::{Placement, Plan, RowTable, TexelFormat, TextureSpec};
pub use realize::{TensorRows, TextureLimits, realize};
pub use record::UsageRecord;
pub use strategy::Strategy;
pub use uses::{MAX_STEPS, StepUse, uses_from_records};
