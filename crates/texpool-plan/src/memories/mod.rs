//! Plans buffers in several memories, such as the fast and the slow one of an accelerator, at the least cost.
//!
//! [`MemoriesPlanner`] takes memories with capacities, and buffers with the memories that each may be in and the cost
//! of each. A [`MemoriesPlan`] has a memory and an offset for each buffer. Which buffers are in a memory is searched
//! here; whether they fit is left to the [`ArenaPlanner`](super::ArenaPlanner).

mod assignment;
mod bound;
mod check;
mod exact;
mod improve;
mod memory;
mod plan;
mod planner;
mod problem;
mod trials;

pub use memory::{Memory, MemoryChoice};
pub use plan::{MemoriesPlan, MemoryPlace};
pub use planner::MemoriesPlanner;
