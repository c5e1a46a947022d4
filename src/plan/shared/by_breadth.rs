//! Greedy by Breadth (Pisarchyk and Lee 2020, section 4.2, Algorithm 1).

use std::cmp::Reverse;

use super::objects::{Objects, best_object};
use crate::plan::{
    Layout, PlanError, UsageRecord, naive_total,
    profile::{AliveOnce, breadths},
};

/// How equals are ordered: steps of equal breadth, and in a step tensors of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Lower index first, steps and tensors.
    Lower,
    /// Higher index first, steps and tensors.
    Higher,
    /// Earlier step first, higher tensor first.
    HigherTensor,
    /// Later step first, lower tensor first.
    LaterStep,
}

/// Visits steps from the widest to the narrowest, and at each places the tensors not placed yet, largest first.
/// `O(k n log n)` for `k` objects.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn greedy_by_breadth(records: &[UsageRecord], ties: Ties) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut steps = breadths(records);
    if matches!(ties, Ties::Higher | Ties::LaterStep) {
        steps.reverse();
    }
    steps.sort_by_key(|&(_, breadth)| Reverse(breadth));
    let mut alive = AliveOnce::new(records);
    let mut objects = Objects::new(records);
    for (step, _) in steps {
        let mut profile = alive.take(step);
        profile.sort_unstable();
        if matches!(ties, Ties::Higher | Ties::HigherTensor) {
            profile.reverse();
        }
        profile.sort_by_key(|&i| Reverse(records[i].size));
        for record in profile {
            match best_object(&objects, record, records[record].size) {
                Some(object) => objects.put(record, object),
                None => {
                    objects.open(record);
                }
            }
        }
    }
    Ok(objects.into_layout())
}
