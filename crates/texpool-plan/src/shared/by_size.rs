//! Greedy by Size (Pisarchyk and Lee 2020, section 4.3, Algorithm 2).

use super::objects::Objects;
use crate::{bounds::naive_total, control::SearchControl, error::PlanError, layout::Layout, record::UsageRecord};

/// Rule for choosing among the free objects. Tensors come from the largest to the smallest, so objects are created in
/// that order too. Every object is therefore large enough, and none grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectChoice {
    /// The smallest, and among equals the one created first: the paper's text.
    Smallest,
    /// The one created first, which is one of the largest.
    First,
    /// The one created last, which is one of the smallest: the paper's Algorithm 2, taken literally.
    Last,
}

/// Assigns tensors from the largest to the smallest, each to the object that `choice` selects. Takes `O(k n log n)`
/// for `k` objects. If `control` stops it, each remaining tensor gets a separate object.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
pub fn greedy_by_size(
    records: &[UsageRecord],
    choice: ObjectChoice,
    control: &SearchControl<'_>,
) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(records[i].size));
    let mut objects = Objects::new(records);
    for record in order {
        if control.should_stop() {
            break;
        }
        let is_free = |&object: &usize| objects.is_free(object, record);
        // The order of tensors keeps the objects sorted by size, so the last free one is one of the smallest.
        let object = match choice {
            ObjectChoice::First => (0..objects.len()).find(is_free),
            ObjectChoice::Last => (0..objects.len()).rev().find(is_free),
            ObjectChoice::Smallest => (0..objects.len()).rev().find(is_free).map(|last| {
                let equals = (0..=last).rev().take_while(|&object| objects.size(object) == objects.size(last));
                equals.filter(is_free).last().unwrap_or(last)
            }),
        };
        match object {
            Some(object) => objects.assign(record, object),
            None => {
                objects.assign_new(record);
            }
        }
    }
    Ok(objects.into_layout())
}
