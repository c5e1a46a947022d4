//! Plans buffers in one arena with all constraints that a compiler may have: live ranges, sizes, alignments, gaps in
//! live ranges, fixed offsets, pairs that may be computed in place, sets that must be apart although they are not alive
//! together, and groups that share an offset.
//!
//! [`ArenaPlanner`] takes the buffers and returns an [`ArenaPlan`]. All buffers are passed to the searches of
//! [`offsets`](super::offsets), which build a plan from the floor up and find small plans of many buffers. Few buffers
//! with constraints also have an exact search of their own, which uses only the forbidden differences between the
//! offsets of each pair. It narrows the offsets of all buffers at once, and so proves more of them.

mod arena_plan;
mod bound;
mod buffer;
mod check;
mod conflicts;
mod exact;
mod first_fit;
mod joints;
mod offset_plan;
mod order_search;
mod pieces;
mod plain;
mod planner;
mod reduced;
mod sequences;
mod without_pairs;

pub use arena_plan::{ArenaPlan, ArenaProof};
pub(super) use buffer::Part;
pub use buffer::{Buffer, BufferGap, BufferId};
pub(super) use pieces::{Piece, pieces};
pub use planner::ArenaPlanner;
pub(super) use planner::MAX_SIZE;
