//! Equality: an object is reused by tensors of exactly its size only, as inference engines do whose textures have the
//! shape of a tensor.

use std::collections::HashMap;

use super::by_birth::{FreeObjects, assign_by_birth};
use crate::{error::PlanError, layout::Layout, record::UsageRecord};

/// Free objects by size, the one freed last on top.
#[derive(Default)]
struct BySize(HashMap<u64, Vec<usize>>);

impl FreeObjects for BySize {
    fn insert(&mut self, object: usize, size: u64) {
        self.0.entry(size).or_default().push(object);
    }

    fn take(&mut self, size: u64) -> Option<usize> {
        self.0.get_mut(&size).and_then(Vec::pop)
    }
}

/// Places tensors in order of birth; of the free objects of its size a tensor takes the one freed last, which is the
/// likeliest to be in a cache. `O(n log n)`.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold.
pub fn equality(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    assign_by_birth(records, &mut BySize::default())
}
