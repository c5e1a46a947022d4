//! Offset Calculation: tensors at offsets in one arena, the cost is the arena.
//!
//! For buffers and for the banks, which are arenas too; no texture may hold such a plan whole, for some step would
//! read and write it. Knows records alone.

mod arena;
mod fit;
mod gaps;
mod greedy;
mod layout;
mod quick;
mod search;
mod smallest;
mod spans;
mod strip;

pub(super) use arena::Arena;
pub use arena::Gap;
pub use fit::{Fit, fit};
pub use greedy::{greedy_by_breadth, greedy_by_size, greedy_in_order, micro_greedy, naive};
pub use layout::back_to_back;
pub use smallest::{Smallest, smallest};
pub use strip::{TieBreak, strip_packing};
