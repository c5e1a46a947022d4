//! Equality: an object is taken again only by a tensor of its very size. What inference engines do
//! whose textures never change.

use std::collections::HashMap;

use super::sweep::{Free, by_birth};
use crate::plan::{error::PlanError, layout::Layout, record::UsageRecord};

/// Free objects by size, the one freed last on top.
#[derive(Default)]
struct BySize(HashMap<u64, Vec<usize>>);

impl Free for BySize {
    fn give(&mut self, object: usize, size: u64) {
        self.0.entry(size).or_default().push(object);
    }

    fn take(&mut self, size: u64) -> Option<usize> {
        self.0.get_mut(&size).and_then(Vec::pop)
    }
}

/// Places tensors in order of birth; of the free objects of its size a tensor takes the one freed last. `O(n log n)`.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold.
pub fn equality(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    by_birth(records, &mut BySize::default())
}
