//! Shared Objects: an object holds one tensor at a time. The cost is the sum of the objects.
//!
//! One file for each strategy. They depend only on records, not on textures. All reject reversed intervals, and sizes
//! whose sum overflows, with a [`PlanError`](super::PlanError), and break ties by the lower index.

mod by_birth;
mod by_breadth;
mod by_size;
mod by_size_improved;
mod equality;
mod in_order;
mod min_cost_flow;
mod naive;
mod objects;

pub use by_breadth::greedy_by_breadth;
pub use by_size::{ObjectChoice, greedy_by_size};
pub use by_size_improved::{StageOrder, Stages, greedy_by_size_improved};
pub use equality::equality;
pub use in_order::greedy_in_order;
pub use min_cost_flow::min_cost_flow;
pub use naive::naive;
