//! Greedy in Order (Lee et al. 2019): assigns tensors in order of birth, each to the free object nearest in size.

use std::collections::BTreeSet;

use super::by_birth::{FreeObjects, assign_by_birth};
use crate::{error::PlanError, layout::Layout, record::UsageRecord};

/// Free objects by size, then by the order in which they were created.
#[derive(Default)]
struct Nearest(BTreeSet<(u64, usize)>);

impl FreeObjects for Nearest {
    fn insert(&mut self, object: usize, size: u64) {
        self.0.insert((size, object));
    }

    fn take(&mut self, size: u64) -> Option<usize> {
        let large = self.0.range((size, 0)..).next().copied();
        let small = self.0.range(..(size, 0)).next_back().copied();
        let entry = match (large, small) {
            // If both differ equally, the larger object is chosen, because it does not have to grow.
            (Some(large), Some(small)) => Some(if size - small.0 < large.0 - size { small } else { large }),
            (large, small) => large.or(small),
        }?;
        self.0.remove(&entry);
        Some(entry.1)
    }
}

/// Places tensors in order of birth. A tensor takes the free object that wastes or grows least, and opens a new one
/// only if no object is free. Takes `O(n log n)`.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
pub fn greedy_in_order(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    assign_by_birth(records, &mut Nearest::default())
}
