//! Plans buffers that differ only in live range and size, with the searches of [`offsets`](crate::offsets).

use std::cmp::Reverse;

use super::{buffer::Buffer, offset_plan::OffsetPlan};
use crate::{
    bounds::max_breadth,
    control::{SearchControl, StopReason},
    error::PlanError,
    gcd::gcd,
    layout::Layout,
    offsets::{Arena, Constraints, Fit, Gap, best_greedy, fast_greedy, fit_by_search, search_takes, smallest},
    record::UsageRecord,
};

/// Returns the unit in which offsets can be counted, if the buffers have only live ranges, sizes and alignments. The
/// alignments must be equal, or every size must be a multiple of every alignment, so that alignment costs nothing.
pub(super) fn common_unit(buffers: &[Buffer]) -> Option<u64> {
    if !buffers.iter().all(|b| b.gaps.is_empty() && b.offset.is_none()) {
        return None;
    }
    let first = buffers.first().map_or(1, |b| b.align);
    if buffers.iter().all(|b| b.align == first) {
        return Some(first);
    }
    let sizes = buffers.iter().fold(0, |divisor, b| gcd(divisor, b.size));
    buffers.iter().try_fold(1u64, |multiple, b| {
        let divides = sizes.is_multiple_of(b.align);
        (multiple / gcd(multiple, b.align)).checked_mul(b.align).filter(|_| divides)
    })
}

/// Returns the largest difference between a buffer's size and the next multiple of `align`.
pub(super) fn padding(buffers: &[Buffer], align: u64) -> u64 {
    buffers.iter().map(|b| b.size.next_multiple_of(align) - b.size).max().unwrap_or(0)
}

/// Converts the buffers to records in units of `align`.
fn records(buffers: &[Buffer], align: u64) -> Vec<UsageRecord> {
    buffers
        .iter()
        .map(|b| UsageRecord::new(b.live.start, b.live.end.saturating_sub(1), b.size.div_ceil(align)))
        .collect()
}

/// Returns the plan that places buffers in the order of their hints, if any buffer has one.
fn hinted(buffers: &[Buffer], records: &[UsageRecord]) -> Option<Layout> {
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    order.sort_by_key(|&i| (buffers[i].hint.unwrap_or(u64::MAX), Reverse(buffers[i].size)));
    buffers.iter().any(|b| b.hint.is_some()).then(|| {
        let mut arena = Arena::new(records, 1);
        order.into_iter().for_each(|record| _ = arena.place(record, Gap::FirstFit));
        arena.into_layout()
    })
}

/// Returns the smallest arena found with at most `nodes` nodes for each capacity, or the first within `capacity`.
pub(super) fn plan(
    buffers: &[Buffer],
    align: u64,
    capacity: Option<u64>,
    nodes: u64,
    control: &SearchControl<'_>,
) -> Result<OffsetPlan, PlanError> {
    let records = records(buffers, align);
    // In the last unit, padding may extend past the end of the arena.
    let padding = padding(buffers, align);
    let in_bytes = |units: u64| units.saturating_mul(align).saturating_sub(padding);
    let plan_of = |layout: &Layout, bound, stopped| {
        let offsets = layout.places.iter().map(|place| place.offset * align).collect();
        OffsetPlan { stopped, ..OffsetPlan::new(buffers, offsets, in_bytes(bound)) }
    };
    let hinted = hinted(buffers, &records);
    let Some(capacity) = capacity else {
        let smallest = smallest(&records, nodes, control)?;
        let layout = hinted.filter(|layout| layout.total() <= smallest.layout.total()).unwrap_or(smallest.layout);
        return Ok(plan_of(&layout, smallest.bound, smallest.stopped));
    };
    let mut bound = max_breadth(&records);
    if in_bytes(bound) > capacity {
        // No plan fits, so any plan is good enough.
        return Ok(plan_of(&fast_greedy(&records)?, bound, None));
    }
    let greedy = best_greedy(&records, capacity / align, control)?;
    for layout in hinted.iter().chain([&greedy]) {
        let plan = plan_of(layout, bound, None);
        if plan.total <= capacity {
            return Ok(plan);
        }
    }
    if nodes > 0 && !search_takes(&records) {
        return Ok(plan_of(&greedy, bound, control.stopped().or(Some(StopReason::TooManyTensors))));
    }
    let mut last_units = None;
    for units in [capacity.div_ceil(align), capacity / align] {
        if units < bound || last_units == Some(units) {
            continue;
        }
        last_units = Some(units);
        match fit_by_search(&records, &Constraints::NONE, units, nodes, control) {
            Fit::Fits(layout) => {
                let plan = plan_of(&layout, bound, None);
                if plan.total <= capacity {
                    return Ok(plan);
                }
            }
            Fit::Infeasible => bound = bound.max(units + 1),
            Fit::BudgetExhausted => {}
        }
    }
    Ok(plan_of(&greedy, bound, control.stopped()))
}
