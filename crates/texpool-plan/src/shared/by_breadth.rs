//! Greedy by Breadth (Pisarchyk and Lee 2020, section 4.2, Algorithm 1).

use super::objects::{Objects, best_object};
use crate::{
    bounds::naive_total,
    control::SearchControl,
    error::PlanError,
    layout::Layout,
    profile::{Ties, by_breadth},
    record::UsageRecord,
};

/// Visits steps from the largest breadth to the smallest, and at each assigns the tensors that have no object yet,
/// largest first. Takes `O(k n log n)` for `k` objects. If `control` stops it, each remaining tensor gets a separate
/// object.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
pub fn greedy_by_breadth(
    records: &[UsageRecord],
    ties: Ties,
    control: &SearchControl<'_>,
) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut objects = Objects::new(records);
    // This is the order of Algorithm 1, flattened: a tensor that occurred at a wider step is not visited again.
    for record in by_breadth(records, ties) {
        if control.should_stop() {
            break;
        }
        match best_object(&objects, record, records[record].size) {
            Some(object) => objects.assign(record, object),
            None => {
                objects.assign_new(record);
            }
        }
    }
    Ok(objects.into_layout())
}
