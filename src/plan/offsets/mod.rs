//! Offset Calculation: tensors at offsets in one arena, the cost is the arena.
//!
//! For buffers and for the banks, which are arenas too; no texture may hold such a plan whole, for some step would
//! read and write it. Knows records alone.

mod arena;
mod fit;
mod greedy;
mod smallest;
mod strip;

pub(super) use arena::Arena;
pub use arena::Gap;
pub use fit::{Fit, fit};
pub use greedy::{greedy_by_breadth, greedy_by_size, greedy_in_order, micro_greedy, naive, simple_arena};
pub use smallest::{Smallest, smallest};
pub use strip::{Longest, strip_packing};

use super::{Layout, Place, Problem};

/// Shared objects laid back to back in one arena (Pisarchyk and Lee 2020, section 5).
pub fn back_to_back(objects: &Layout) -> Layout {
    let starts: Vec<u64> = objects
        .regions
        .iter()
        .scan(0u64, |next, size| {
            let start = *next;
            *next += size;
            Some(start)
        })
        .collect();
    let places = objects.places.iter().map(|p| Place { region: 0, offset: starts[p.region] + p.offset }).collect();
    let regions = if objects.regions.is_empty() { Vec::new() } else { vec![objects.total()] };
    Layout { problem: Problem::Offsets, regions, places }
}
