//! The best arena that the greedy strategies find.

use super::{
    arena::Gap,
    greedy::{greedy_by_breadth, greedy_by_size, greedy_in_order, micro_greedy, naive},
    strip::{TieBreak, strip_packing},
};
use crate::plan::{
    control::{Progress, SearchControl},
    error::PlanError,
    layout::Layout,
    profile::Ties,
    record::UsageRecord,
};

/// Overlapping pairs of tensors above which the strategies that look at each pair are left out: they take some two
/// seconds each there, measured on 100,000 tensors of which each overlaps 5,000, on a 2.6 GHz EPYC.
const MAX_PAIRS: u64 = 1 << 28;

/// How many pairs of tensors overlap in time. `O(n log n)`.
fn overlapping_pairs(records: &[UsageRecord]) -> u64 {
    let mut births: Vec<usize> = records.iter().map(|r| r.first).collect();
    births.sort_unstable();
    let mut deaths: Vec<usize> = records.iter().map(|r| r.last).collect();
    deaths.sort_unstable();
    // When the k-th tensor dies, those born by then are the k that have died and those still alive, which overlap it.
    // So each pair is counted once, when the first of the two dies.
    let born_until = |step: usize| births.partition_point(|&b| b <= step) as u64;
    let born: u64 = deaths.iter().map(|&death| born_until(death)).sum();
    let count = records.len() as u64;
    born - count * (count + 1) / 2
}

/// The smallest arena that the greedy strategies find. No more of them are tried once one is within `enough`, or once
/// `control` stops them.
///
/// Strategies that take no longer than sorting come first, so that there is an answer however many records there are.
pub(super) fn best_greedy(
    records: &[UsageRecord],
    enough: u64,
    control: &SearchControl<'_>,
) -> Result<Layout, PlanError> {
    type Greedy = fn(&[UsageRecord], &SearchControl<'_>) -> Result<Layout, PlanError>;
    const SORTING: [Greedy; 2] = [
        |records, control| greedy_in_order(records, Gap::BestFit, control),
        |records, control| strip_packing(records, TieBreak::Largest, control),
    ];
    const PAIRWISE: [Greedy; 3] = [
        |records, control| greedy_by_size(records, 1, control),
        |records, control| greedy_by_breadth(records, Ties::Lower, control),
        micro_greedy,
    ];
    let mut best = naive(records)?;
    let pairwise: &[Greedy] = if overlapping_pairs(records) > MAX_PAIRS { &[] } else { &PAIRWISE };
    let total = (SORTING.len() + pairwise.len()) as u64;
    for (done, strategy) in SORTING.iter().chain(pairwise).enumerate() {
        control.report(Progress { best: Some(best.total()), ..Progress::new("greedy strategies", done as u64, total) });
        if best.total() <= enough || control.should_stop() {
            break;
        }
        let layout = strategy(records, control)?;
        if layout.total() < best.total() {
            best = layout;
        }
    }
    Ok(best)
}
