//! The greedy strategies: an order of tensors, and a gap for each (Pisarchyk and Lee 2020, sections 5.2 and 5.3).

use std::cmp::Reverse;

use super::arena::{Arena, Gap};
use crate::plan::{Layout, PlanError, Ties, UsageRecord, naive_total, profile::by_breadth};

/// Tensors one after another, nothing shared, in `O(n)`.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn naive(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut arena = Arena::new(records, 1);
    for record in 0..records.len() {
        let top = arena.top();
        arena.insert(record, top);
    }
    Ok(arena.into_layout())
}

/// From the largest tensor to the smallest, each into the smallest gap; offsets are multiples of `align` (section 5.2,
/// Algorithm 3). `O(n^2)`.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn greedy_by_size(records: &[UsageRecord], align: u64) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| Reverse(records[i].size));
    Ok(place(records, &order, align, Gap::Smallest))
}

/// From the largest tensor to the smallest, the later of equals first, each into the lowest gap: the planner of
/// TensorFlow Lite Micro. `O(n^2)`.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn micro_greedy(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut order: Vec<usize> = (0..records.len()).rev().collect();
    order.sort_by_key(|&i| Reverse(records[i].size));
    Ok(place(records, &order, 1, Gap::Lowest))
}

/// In the order of the list, each into the smallest gap; offsets are multiples of `align`: the arena of the TensorFlow
/// Lite interpreter. `O(n^2)`.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn simple_arena(records: &[UsageRecord], align: u64) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let order: Vec<usize> = (0..records.len()).collect();
    Ok(place(records, &order, align, Gap::Smallest))
}

/// From the widest step to the narrowest, at each the tensors not placed yet, largest first (section 5.3). `O(n^2)`.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn greedy_by_breadth(records: &[UsageRecord], ties: Ties) -> Result<Layout, PlanError> {
    naive_total(records)?;
    Ok(place(records, &by_breadth(records, ties), 1, Gap::Smallest))
}

/// In order of birth, each into the gap that `gap` names. `O(n^2)`.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn greedy_in_order(records: &[UsageRecord], gap: Gap) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| records[i].first);
    Ok(place(records, &order, 1, gap))
}

fn place(records: &[UsageRecord], order: &[usize], align: u64, gap: Gap) -> Layout {
    let mut arena = Arena::new(records, align);
    for &record in order {
        arena.put(record, gap);
    }
    arena.into_layout()
}
