//! Tensors as they are born, objects as they come free: the sweep that rules without foresight share.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::objects::Objects;
use crate::plan::{bounds::naive_total, error::PlanError, layout::Layout, record::UsageRecord};

/// Objects in use, the one that comes free next first; equals by index.
#[derive(Default)]
struct InUse(BinaryHeap<Reverse<(usize, usize)>>);

impl InUse {
    /// `object` is in use up to step `last`.
    fn hold(&mut self, object: usize, last: usize) {
        self.0.push(Reverse((last, object)));
    }

    /// The next object that is in use no more at `step`.
    fn free_before(&mut self, step: usize) -> Option<usize> {
        let &Reverse((last, object)) = self.0.peek()?;
        if last >= step {
            return None;
        }
        self.0.pop();
        Some(object)
    }
}

/// The free objects, and the rule by which one is taken.
pub(super) trait Free {
    /// `object` of `size` has come free.
    fn give(&mut self, object: usize, size: u64);

    /// The object that a tensor of `size` takes; none if it opens one.
    fn take(&mut self, size: u64) -> Option<usize>;
}

/// Places tensors in order of birth, each into a free object by the rule of `free`.
pub(super) fn by_birth(records: &[UsageRecord], free: &mut impl Free) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| records[i].first);
    let mut objects = Objects::new(records);
    let mut in_use = InUse::default();
    for record in order {
        let r = &records[record];
        while let Some(object) = in_use.free_before(r.first) {
            free.give(object, objects.size(object));
        }
        let object = match free.take(r.size) {
            Some(object) => {
                objects.put(record, object);
                object
            }
            None => objects.open(record),
        };
        in_use.hold(object, r.last);
    }
    Ok(objects.into_layout())
}
