//! The memory planner: takes usage records and returns plans. Independent of graphs, GPUs and files.
//!
//! [`ArenaPlanner`] places buffers in one arena, [`MemoriesPlanner`] in several memories, [`solve`] plans textures;
//! [`guide`] explains the problems and the strategies. Sizes are in any unit, bytes or texels.

mod assignment;
mod banks;
mod bounds;
mod budget;
mod buffers;
mod canvas;
mod check;
mod comparison;
mod control;
mod error;
mod exact;
mod gcd;
pub mod guide;
// For texpool's other crates, which need more than users do.
#[doc(hidden)]
pub mod internal;
pub mod io;
mod layout;
mod live_counts;
mod memories;
pub mod offsets;
mod order;
mod picture;
mod placement;
mod pool;
mod portfolio;
mod printable;
mod profile;
pub mod published;
mod random;
mod realize;
mod record;
mod rows;
mod sections;
// Users use `Strategy`; the tests call the strategies directly.
#[doc(hidden)]
pub mod shared;
mod solve;
mod strategy;
mod uses;

pub use banks::{bank_bound, place_banks};
pub use bounds::{Bounds, bounds, naive_total};
pub use budget::SearchBudget;
pub use buffers::{ArenaPlan, ArenaPlanner, ArenaProof, Buffer, BufferGap, BufferId};
pub use check::{check, check_layout};
pub use comparison::{StrategyComparison, compare_strategies};
pub use control::{Progress, ProgressFn, SearchControl, StopReason};
pub use error::{InputError, LayoutError, PlanError, UnsupportedError};
pub use exact::{Case, Certificate, Optimum, Prices, Proof, optimum, verify_certificate};
pub use layout::{Layout, LayoutKind, Place};
pub use memories::{MemoriesPlan, MemoriesPlanner, Memory, MemoryChoice, MemoryPlace};
pub use order::{LeastPeak, OrderProblem, OrderTensor, PoolOrder, least_peak, smallest_pool};
pub use picture::{PoolDrawing, arena_svg, plan_svg, pool_svg, pools_svg, profile_svg};
pub use placement::{Placement, Plan, RowTable, TexelFormat, TextureSpec};
pub use pool::{Pool, overlay_pools};
pub use portfolio::{Candidate, NotTried};
pub use printable::{Printable, printable};
#[doc(hidden)]
pub use profile::Ties;
pub use profile::operator_profiles;
pub use realize::{TensorRows, TextureLimits, realize};
pub use record::UsageRecord;
pub use rows::{
    LivePeak, LiveRange, RowLayout, RowProblem, RowStep, RowUse, check_rows, live_row_peak, place_rows, realize_rows,
    row_live_ranges,
};
pub use solve::{Planner, Solution, solve};
pub use strategy::Strategy;
pub use uses::{MAX_STEPS, StepUse, Uses, uses_from_records};
