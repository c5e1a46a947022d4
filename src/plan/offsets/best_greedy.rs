//! What is known of an arena without a search: the widest step, and what the greedy strategies come to.

use super::{
    arena::Gap,
    greedy::{greedy_by_breadth, greedy_by_size, greedy_in_order, micro_greedy, naive},
    strip::{TieBreak, strip_packing},
};
use crate::plan::{
    bounds::naive_total,
    control::{Progress, SearchControl},
    error::PlanError,
    layout::Layout,
    profile::Ties,
    record::UsageRecord,
};

/// Meeting pairs of tensors above which the strategies that look at each pair are left out: they take some two seconds
/// each there, measured on 100,000 tensors of which each meets 5,000, on a 2.6 GHz EPYC.
const MAX_PAIRS: u64 = 1 << 28;

/// The most that is alive at a step: no arena is smaller. `O(n log n)`.
pub(super) fn widest(records: &[UsageRecord]) -> Result<u64, PlanError> {
    naive_total(records)?;
    let mut births: Vec<&UsageRecord> = records.iter().collect();
    let mut deaths = births.clone();
    births.sort_unstable_by_key(|r| r.first);
    deaths.sort_unstable_by_key(|r| r.last);
    let mut dead = deaths.into_iter().peekable();
    let (mut breadth, mut widest) = (0, 0);
    for born in births {
        while let Some(died) = dead.next_if(|r| r.last < born.first) {
            breadth -= died.size;
        }
        breadth += born.size;
        widest = widest.max(breadth);
    }
    Ok(widest)
}

/// How many pairs of tensors are alive at a same step. `O(n log n)`.
fn meeting_pairs(records: &[UsageRecord]) -> u64 {
    let mut births: Vec<usize> = records.iter().map(|r| r.first).collect();
    births.sort_unstable();
    // Those born before it dies, all but those that had died before: each pair is seen by the one born first.
    let mut deaths: Vec<usize> = records.iter().map(|r| r.last).collect();
    deaths.sort_unstable();
    let born_until = |step: usize| births.partition_point(|&b| b <= step) as u64;
    let with_earlier: u64 = deaths.iter().map(|&death| born_until(death)).sum();
    let count = records.len() as u64;
    with_earlier - count * (count + 1) / 2
}

/// The best that the greedy strategies find; no more are tried once one is within `enough`, or `control` stops them.
///
/// Those that take no longer than sorting come first, so that there is an answer whatever comes in.
pub(super) fn quick(records: &[UsageRecord], enough: u64, control: &SearchControl<'_>) -> Result<Layout, PlanError> {
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
    let pairwise: &[Greedy] = if meeting_pairs(records) > MAX_PAIRS { &[] } else { &PAIRWISE };
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
