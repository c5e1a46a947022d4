//! Assigns tensors in order of birth, each to a free object. This is the common loop of the strategies that do not
//! look ahead.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::objects::Objects;
use crate::{bounds::naive_total, error::PlanError, layout::Layout, record::UsageRecord};

/// Objects in use, by last step and index. The one that becomes free next is on top.
#[derive(Default)]
struct InUse(BinaryHeap<Reverse<(usize, usize)>>);

impl InUse {
    /// Marks `object` as in use until step `last`.
    fn insert(&mut self, object: usize, last: usize) {
        self.0.push(Reverse((last, object)));
    }

    /// Removes and returns an object whose last step is before `step`, if any.
    fn pop_free(&mut self, step: usize) -> Option<usize> {
        let &Reverse((last, object)) = self.0.peek()?;
        if last >= step {
            return None;
        }
        self.0.pop();
        Some(object)
    }
}

/// The free objects, with the rule for choosing one of them.
pub(super) trait FreeObjects {
    /// Adds an object that has become free.
    fn insert(&mut self, object: usize, size: u64);

    /// Removes and returns the object for a tensor of `size`; `None` if the tensor needs a new one.
    fn take(&mut self, size: u64) -> Option<usize>;
}

/// Assigns tensors in order of birth, each to the object that `free` returns.
pub(super) fn assign_by_birth(records: &[UsageRecord], free: &mut impl FreeObjects) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| records[i].first);
    let mut objects = Objects::new(records);
    let mut in_use = InUse::default();
    for record in order {
        let r = &records[record];
        while let Some(object) = in_use.pop_free(r.first) {
            free.insert(object, objects.size(object));
        }
        let object = match free.take(r.size) {
            Some(object) => {
                objects.assign(record, object);
                object
            }
            None => objects.assign_new(record),
        };
        in_use.insert(object, r.last);
    }
    Ok(objects.into_layout())
}
