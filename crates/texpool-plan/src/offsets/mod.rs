//! Offset Calculation: tensors at offsets in one arena. The cost is the size of the arena.
//!
//! Used for buffers, and for banks, each of which is packed like an arena. A single texture cannot hold all tensors
//! in this way, because some step would read and write it. Depends only on records.

mod arena;
mod best_greedy;
mod blocks;
mod ejection;
mod fit;
mod free_list;
mod greedy;
mod interval_tree;
mod layout;
mod search;
mod smallest;
mod squeaky_wheel;
mod strip;

pub(super) use arena::Arena;
pub(super) use best_greedy::{best_greedy, fast_greedy};
pub(super) use fit::{fit_by_search, granularity};
pub(super) use search::{Constraint, Constraints, Joint, Piece, common_byte, takes as search_takes};
pub(super) use smallest::smaller;
pub(super) use squeaky_wheel::SqueakyWheel;
// Users use `Strategy`; the tests call the strategies directly.
#[doc(hidden)]
pub use arena::Gap;
pub use fit::fit;
#[doc(hidden)]
pub use greedy::{greedy_by_breadth, greedy_by_size, greedy_in_order, micro_greedy, naive};
pub use layout::back_to_back;
pub use search::Fit;
pub use smallest::{Smallest, smallest};
#[doc(hidden)]
pub use strip::{TieBreak, strip_packing};
