//! Greedy in Order (Lee et al. 2019): tensors as they are born, each into the free object nearest in size.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

use super::objects::Objects;
use crate::plan::{Layout, PlanError, UsageRecord, naive_total};

/// Places tensors in order of birth; a tensor takes the free object that wastes or grows least, and opens a new one
/// only when none is free. `O(n log n)`.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn greedy_in_order(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| records[i].first);
    let mut objects = Objects::new(records);
    let mut in_use: BinaryHeap<Reverse<(usize, usize)>> = BinaryHeap::new();
    let mut free: BTreeSet<(u64, usize)> = BTreeSet::new();
    for record in order {
        let r = &records[record];
        while let Some(&Reverse((last, object))) = in_use.peek() {
            if last >= r.first {
                break;
            }
            in_use.pop();
            free.insert((objects.size(object), object));
        }
        let large = free.range((r.size, 0)..).next().copied();
        let small = free.range(..(r.size, 0)).next_back().copied();
        let pick = match (large, small) {
            (Some(large), Some(small)) => Some(if r.size - small.0 < large.0 - r.size { small } else { large }),
            (large, small) => large.or(small),
        };
        let object = match pick {
            Some(entry) => {
                free.remove(&entry);
                objects.put(record, entry.1);
                entry.1
            }
            None => objects.open(record),
        };
        in_use.push(Reverse((r.last, object)));
    }
    Ok(objects.into_layout())
}
