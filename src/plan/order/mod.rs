//! The order of steps: another topological order may need less memory.
//!
//! Small graphs are solved exactly for the widest step, by dynamic programming over downsets; large ones by a
//! deterministic search. Either way the file's order is kept unless the plan gets smaller. Knows steps and tensors as
//! numbers, no operators.

mod downsets;
mod graph;
mod search;

use super::{PlanError, SearchControl, StepUse, StopReason, Strategy, UsageRecord, bounds};
use graph::Graph;

/// Records of tensors that steps read and write: from the first step that touches each to the last.
///
/// # Errors
/// [`PlanError::NeverUsed`] for a tensor that no step touches, [`PlanError::OutOfRange`] for one that has no size.
pub fn records_from_uses(uses: &[StepUse], sizes: &[u64]) -> Result<Vec<UsageRecord>, PlanError> {
    let mut records: Vec<Option<UsageRecord>> = vec![None; sizes.len()];
    for (step, touch) in uses.iter().enumerate() {
        for &tensor in touch.reads.iter().chain(&touch.writes) {
            let (what, count) = ("tensor", sizes.len());
            let Some(record) = records.get_mut(tensor) else {
                return Err(PlanError::OutOfRange { record: tensor, what, index: tensor, count });
            };
            let first = record.map_or(step, |r: UsageRecord| r.first);
            *record = Some(UsageRecord::new(first, step, sizes[tensor]));
        }
    }
    let found = |(record, r): (usize, Option<UsageRecord>)| r.ok_or(PlanError::NeverUsed { record });
    records.into_iter().enumerate().map(found).collect()
}

/// An order of steps, and what it gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reordered {
    /// For each place in the new order, the step of the file that runs there.
    pub order: Vec<usize>,
    /// The records in the new order, tensor by tensor.
    pub records: Vec<UsageRecord>,
    /// The steps in the new order.
    pub uses: Vec<StepUse>,
    /// The widest step of the narrowest order there is, where the graph was small enough to solve.
    pub narrowest: Option<u64>,
    /// Why the search ended early, where it did.
    pub stopped: Option<StopReason>,
}

/// Downsets above which a graph is searched rather than solved.
pub const MAX_DP_STATES: usize = 1 << 17;

/// Reorders steps for a smaller plan, with at most `moves` moves where the graph is too large to solve. The order stays
/// legal: steps that touch the same tensor, one of them writing it, keep their order. What is compared is the smallest
/// greedy Shared Objects plan, then the widest step; the file's order wins ties. Where `control` stops it, the best order
/// found by then.
///
/// # Errors
/// As [`records_from_uses`], and those of the records.
pub fn reorder(
    uses: &[StepUse],
    sizes: &[u64],
    moves: u64,
    control: &SearchControl<'_>,
) -> Result<Reordered, PlanError> {
    let file: Vec<usize> = (0..uses.len()).collect();
    let records = records_from_uses(uses, sizes)?;
    let graph = Graph::new(uses, sizes);
    let mut least = score(&records, control)?;
    let solving = control.share(1, 2);
    let solved = downsets::narrowest(&graph, MAX_DP_STATES, &solving);
    let narrowest = solved.as_ref().map(|solved| solved.0);
    let start = solved.map_or_else(|| file.clone(), |solved| solved.1);
    let mut best = Reordered { order: file, records, uses: uses.to_vec(), narrowest, stopped: None };
    // The narrowest order need not give the smallest plan, so it is only where the search begins.
    let searching = control.share(2, 3);
    let searched = search::improve(&graph, start.clone(), moves, &searching)?;
    for order in [start, searched] {
        let (records, uses) = graph.apply(&order)?;
        let score = score(&records, control)?;
        if score < least {
            least = score;
            best = Reordered { order, records, uses, narrowest, stopped: None };
        }
    }
    best.stopped = control.stopped().or(solving.stopped()).or(searching.stopped());
    Ok(best)
}

/// The smallest greedy Shared Objects plan, then the widest step. A strategy that is stopped counts as far as it came.
fn score(records: &[UsageRecord], control: &SearchControl<'_>) -> Result<(u64, u64), PlanError> {
    let mut least = u64::MAX;
    for strategy in Strategy::PORTFOLIO {
        least = least.min(strategy.place_until(records, control)?.total());
    }
    Ok((least, bounds(records)?.offsets))
}
