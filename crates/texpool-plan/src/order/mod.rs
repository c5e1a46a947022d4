//! The order of operations with the smallest memory. Pisarchyk and Lee (2020) name it as future work;
//! SERENITY (Ahn et al. 2020) searches it by dynamic programming.
//!
//! A problem is divided where all orders agree, then each part is searched: by beams for a good order, and exactly for
//! the proof. Both skip operations that can run without loss.

mod beam;
mod bound;
mod exact;
mod free_moves;
mod pool;
mod problem;
mod region;
mod search;
mod segments;
mod states;

pub use pool::{PoolOrder, smallest_pool};
pub use problem::{OrderProblem, OrderTensor};
pub use search::{LeastPeak, least_peak};
