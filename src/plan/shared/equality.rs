//! Equality: an object is taken again only by a tensor of its very size. What engines do whose textures never change.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use super::objects::Objects;
use crate::plan::{Layout, PlanError, UsageRecord, naive_total};

/// Places tensors in order of birth; of the free objects of its size a tensor takes the one freed last. `O(n log n)`.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn equality(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| records[i].first);
    let mut objects = Objects::new(records);
    let mut in_use: BinaryHeap<Reverse<(usize, usize)>> = BinaryHeap::new();
    let mut free: HashMap<u64, Vec<usize>> = HashMap::new();
    for record in order {
        let r = &records[record];
        while let Some(&Reverse((last, object))) = in_use.peek() {
            if last >= r.first {
                break;
            }
            in_use.pop();
            free.entry(objects.size(object)).or_default().push(object);
        }
        let object = match free.get_mut(&r.size).and_then(Vec::pop) {
            Some(object) => {
                objects.put(record, object);
                object
            }
            None => objects.open(record),
        };
        in_use.push(Reverse((r.last, object)));
    }
    Ok(objects.into_layout())
}
