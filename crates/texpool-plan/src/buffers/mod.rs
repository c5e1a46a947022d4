//! Buffers in one arena, with all that a compiler knows of them: lives, sizes, alignments, gaps in their lives, places
//! that are given, and which may be computed in place.
//!
//! [`ArenaPlanner`] takes them, [`ArenaPlan`] is what it answers. Buffers that differ in nothing but life and size go to
//! the searches of [`offsets`](super::offsets); the others have searches of their own, for which the offsets that a
//! buffer may not have beside another are all that two buffers are to each other.

mod arena_plan;
mod bound;
mod buffer;
mod check;
mod conflicts;
mod exact;
mod first_fit;
mod found;
mod order_search;
mod pieces;
mod plain;
mod planner;

pub use arena_plan::{ArenaPlan, ArenaProof};
pub(super) use buffer::Part;
pub use buffer::{Buffer, BufferGap, BufferId};
pub(super) use pieces::{Piece, pieces};
pub use planner::ArenaPlanner;
