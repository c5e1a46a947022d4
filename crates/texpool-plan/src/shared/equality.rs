//! Equality: an object is reused only by tensors of exactly its size. Inference engines whose textures have the shape
//! of a tensor work like this.

use std::collections::HashMap;

use super::by_birth::{FreeObjects, assign_by_birth};
use crate::{error::PlanError, layout::Layout, record::UsageRecord};

/// Free objects by size. The one freed last is on top.
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

/// Places tensors in order of birth. A tensor takes the free object of its size that was freed last, because it is
/// the most likely to be still in a cache. Takes `O(n log n)`.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
pub fn equality(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    assign_by_birth(records, &mut BySize::default())
}
