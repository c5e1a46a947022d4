//! The greedy strategies: they take tensors in some order and place each into a gap (Pisarchyk and Lee 2020, sections
//! 5.2 and 5.3).
//!
//! A tensor of size 0 gets offset 0 and does not restrict others. If a [`SearchControl`] stops a strategy, the
//! remaining tensors are stacked on top.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    arena::{Arena, Gap},
    free_list::FreeList,
    layout::one_arena,
};
use crate::{
    bounds::naive_total,
    control::SearchControl,
    error::PlanError,
    layout::Layout,
    profile::{Ties, by_breadth},
    record::UsageRecord,
};

/// Places tensors one after another without sharing, in `O(n)`.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
pub fn naive(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    naive_total(records)?;
    Ok(one_arena(records, &vec![None; records.len()]))
}

/// Places tensors from the largest to the smallest, each into the smallest gap; offsets are multiples of `align`
/// (section 5.2, Algorithm 3). Takes `O(n log n)` if tensors are alive for a short time, `O(n^2)` if most overlap
/// most others.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
pub fn greedy_by_size(records: &[UsageRecord], align: u64, control: &SearchControl<'_>) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| Reverse(records[i].size));
    Ok(place(records, &order, align, Gap::BestFit, control))
}

/// Places tensors from the largest to the smallest, the later of equals first, each into the lowest gap. This is
/// `GreedyMemoryPlanner` of TensorFlow Lite Micro. Takes as long as [`greedy_by_size`].
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
pub fn micro_greedy(records: &[UsageRecord], control: &SearchControl<'_>) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut order: Vec<usize> = (0..records.len()).rev().collect();
    order.sort_by_key(|&i| Reverse(records[i].size));
    Ok(place(records, &order, 1, Gap::FirstFit, control))
}

/// Visits steps from the largest breadth to the smallest, and at each places the remaining tensors, largest first
/// (section 5.3). Takes as long as [`greedy_by_size`].
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
pub fn greedy_by_breadth(
    records: &[UsageRecord],
    ties: Ties,
    control: &SearchControl<'_>,
) -> Result<Layout, PlanError> {
    naive_total(records)?;
    Ok(place(records, &by_breadth(records, ties), 1, Gap::BestFit, control))
}

/// Places tensors in order of birth, each into a gap (Lee et al. 2019). Takes `O(n log n)` for the smallest gap: in
/// this order a tensor can only overlap those that are alive at its birth, so a free list contains all gaps.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
pub fn greedy_in_order(records: &[UsageRecord], gap: Gap, control: &SearchControl<'_>) -> Result<Layout, PlanError> {
    naive_total(records)?;
    let mut order: Vec<usize> = (0..records.len()).filter(|&i| records[i].size > 0).collect();
    order.sort_by_key(|&i| records[i].first);
    let mut offsets: Vec<Option<u64>> = vec![None; records.len()];
    let mut free_list = FreeList::new(gap);
    // Ordered by last step; the first to die is on top.
    let mut alive: BinaryHeap<Reverse<(usize, u64, u64)>> = BinaryHeap::new();
    for i in order {
        if control.should_stop() {
            break;
        }
        let UsageRecord { first, last, size } = records[i];
        while let Some(&Reverse((died, offset, freed))) = alive.peek()
            && died < first
        {
            alive.pop();
            free_list.free(offset, freed);
        }
        let offset = free_list.allocate(size);
        alive.push(Reverse((last, offset, size)));
        offsets[i] = Some(offset);
    }
    Ok(one_arena(records, &offsets))
}

fn place(records: &[UsageRecord], order: &[usize], align: u64, gap: Gap, control: &SearchControl<'_>) -> Layout {
    let mut arena = Arena::new(records, align);
    for &record in order {
        if control.should_stop() {
            arena.place_on_top(record);
        } else {
            arena.place(record, gap);
        }
    }
    arena.into_layout()
}
