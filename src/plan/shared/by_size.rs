//! Greedy by Size (Pisarchyk and Lee 2020, section 4.3, Algorithm 2).

use super::objects::Objects;
use crate::plan::{bounds::naive_total, control::SearchControl, error::PlanError, layout::Layout, record::UsageRecord};

/// Which of the suitable objects a tensor takes. Objects never grow here and are opened from the largest to the
/// smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectChoice {
    /// The smallest, the one opened first of equals: the paper's text.
    Smallest,
    /// The one opened first, and so a largest.
    First,
    /// The one opened last, and so a smallest: the paper's Algorithm 2 to the letter.
    Last,
}

/// Places tensors from the largest to the smallest, each into the object that `pick` names. `O(k n log n)` for `k`
/// objects. Where `control` stops it, those not placed yet get objects of their own.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold.
pub fn greedy_by_size(
    records: &[UsageRecord],
    pick: ObjectChoice,
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
        let suits = |&object: &usize| objects.suits(object, record);
        let object = match pick {
            ObjectChoice::First => (0..objects.len()).find(suits),
            ObjectChoice::Last => (0..objects.len()).rev().find(suits),
            ObjectChoice::Smallest => (0..objects.len()).rev().find(suits).map(|last| {
                let equals = (0..=last).rev().take_while(|&object| objects.size(object) == objects.size(last));
                equals.filter(suits).last().unwrap_or(last)
            }),
        };
        match object {
            Some(object) => objects.put(record, object),
            None => {
                objects.open(record);
            }
        }
    }
    Ok(objects.into_layout())
}
