//! Greedy by Size (Pisarchyk and Lee 2020, section 4.3, Algorithm 2).

use super::objects::Objects;
use crate::{bounds::naive_total, control::SearchControl, error::PlanError, layout::Layout, record::UsageRecord};

/// Which of the free objects a tensor takes. Tensors come from the largest to the smallest, so objects are created from
/// the largest to the smallest, every object is large enough, and none grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectChoice {
    /// The smallest, and of equals the one created first: the paper's text.
    Smallest,
    /// The one created first, which is a largest one.
    First,
    /// The one created last, which is a smallest one: the paper's Algorithm 2 to the letter.
    Last,
}

/// Assigns tensors from the largest to the smallest, each to the object that `choice` names. `O(k n log n)` for `k`
/// objects. If `control` stops it, the remaining tensors get objects of their own.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold.
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
        // Objects are sorted by size because of the order of tensors, so the last free one is a smallest one.
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
