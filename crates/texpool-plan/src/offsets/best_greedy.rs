//! Finds the best arena among the greedy strategies.

use super::{
    arena::Gap,
    blocks::Blocks,
    greedy::{greedy_by_breadth, greedy_by_size, greedy_in_order, micro_greedy},
    strip::{TieBreak, strip_packing},
};
use crate::{
    control::{Progress, SearchControl},
    error::PlanError,
    layout::Layout,
    profile::Ties,
    record::UsageRecord,
};

/// Upper limit on overlapping pairs of tensors for the strategies that compare pairs. At this limit each takes some
/// two seconds, measured on 100,000 tensors of which each overlaps 5,000, on a 2.6 GHz EPYC.
const MAX_PAIRS: u64 = 1 << 28;

/// Counts the pairs of tensors that overlap in time, in `O(n log n)`.
fn overlapping_pairs(records: &[UsageRecord]) -> u64 {
    let mut births: Vec<usize> = records.iter().map(|r| r.first).collect();
    births.sort_unstable();
    let mut deaths: Vec<usize> = records.iter().map(|r| r.last).collect();
    deaths.sort_unstable();
    // When the k-th tensor dies, the tensors born by then are the k dead ones and the live ones, which overlap it. So
    // each pair is counted once, when the first of the two dies.
    let born_until = |step: usize| births.partition_point(|&b| b <= step) as u64;
    let born: u64 = deaths.iter().map(|&death| born_until(death)).sum();
    let count = records.len() as u64;
    born - count * (count + 1) / 2
}

/// Returns the layout of the fastest greedy strategy, in `O(n log n)`: 50,000 tensors take less than a tenth of a
/// second.
pub(crate) fn fast_greedy(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    greedy_in_order(records, Gap::BestFit, &SearchControl::new())
}

/// Upper limit on overlapping pairs up to which every strategy runs to its end, even after a deadline: all of them
/// together then take about a millisecond.
const MAX_PAIRS_UNSTOPPED: u64 = 1 << 14;

/// Returns the smallest arena of the greedy strategies, applied to the tensors and to [blocks](Blocks) of them. Stops
/// trying more of them once one is within `enough`, or once `control` stops the search.
///
/// The first strategy takes no longer than sorting and always runs to its end, so a search without time still returns
/// a greedy layout. On small sets every strategy runs, regardless of `control`.
pub(crate) fn best_greedy(
    records: &[UsageRecord],
    enough: u64,
    control: &SearchControl<'_>,
) -> Result<Layout, PlanError> {
    let best = best_of_tensors(records, enough, control)?;
    if best.total() <= enough || control.should_stop() {
        return Ok(best);
    }
    let Some(blocks) = Blocks::new(records) else { return Ok(best) };
    let (outermost, joined) = blocks.outermost();
    if joined.len() > records.len() / 4 * 3 && overlapping_pairs(records) > MAX_PAIRS_UNSTOPPED {
        // A few blocks change little, and the strategies would take twice the time.
        return Ok(best);
    }
    let of_blocks = best_of_tensors(&joined, enough, control)?;
    let smaller = of_blocks.total() < best.total();
    Ok(if smaller { blocks.expand(&outermost, &of_blocks, records.len()) } else { best })
}

/// Returns the smallest arena of the greedy strategies.
fn best_of_tensors(records: &[UsageRecord], enough: u64, control: &SearchControl<'_>) -> Result<Layout, PlanError> {
    type Greedy = fn(&[UsageRecord], &SearchControl<'_>) -> Result<Layout, PlanError>;
    const SORTING: [Greedy; 1] = [|records, control| strip_packing(records, TieBreak::Largest, control)];
    const PAIRWISE: [Greedy; 3] = [
        |records, control| greedy_by_size(records, 1, control),
        |records, control| greedy_by_breadth(records, Ties::Lower, control),
        micro_greedy,
    ];
    let pairs = overlapping_pairs(records);
    let pairwise: &[Greedy] = if pairs > MAX_PAIRS { &[] } else { &PAIRWISE };
    let unstopped = SearchControl::new();
    let mut best = fast_greedy(records)?;
    let total = (1 + SORTING.len() + pairwise.len()) as u64;
    for (done, strategy) in (1..).zip(SORTING.iter().chain(pairwise)) {
        control.report(Progress { best: Some(best.total()), ..Progress::new("greedy strategies", done, total) });
        let small = pairs <= MAX_PAIRS_UNSTOPPED;
        if best.total() <= enough || (control.should_stop() && !small) {
            break;
        }
        let layout = strategy(records, if small { &unstopped } else { control })?;
        if layout.total() < best.total() {
            best = layout;
        }
    }
    Ok(best)
}
