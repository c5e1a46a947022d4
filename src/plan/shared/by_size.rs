//! Greedy by Size (Pisarchyk and Lee 2020, section 4.3, Algorithm 2).

use super::objects::Objects;
use crate::plan::{Layout, PlanError, UsageRecord, naive_total};

/// Places tensors from the largest to the smallest, each into the smallest suitable object. `O(k n log n)` for `k`
/// objects.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn greedy_by_size(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(records[i].size));
    let mut objects = Objects::new(records);
    for record in order {
        // Objects never grow here and are opened from the largest to the smallest; equal ones count as one step.
        let mut best: Option<usize> = None;
        for object in (0..objects.len()).rev() {
            if best.is_some_and(|best| objects.size(object) > objects.size(best)) {
                break;
            }
            if objects.suits(object, record) {
                best = Some(object);
            }
        }
        match best {
            Some(object) => objects.put(record, object),
            None => {
                objects.open(record);
            }
        }
    }
    Ok(objects.into_layout())
}
