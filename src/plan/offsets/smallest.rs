//! The smallest arena: the greedy strategies, then the search wherever they leave a gap to the widest step.

use super::{
    fit::{Fit, fit_by_search, granularity},
    quick::{quick, widest},
};
use crate::plan::{
    control::{Progress, SearchControl, StopReason},
    error::PlanError,
    layout::Layout,
    record::UsageRecord,
};

/// The smallest arena found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smallest {
    /// The layout.
    pub layout: Layout,
    /// A capacity below which nothing fits: the widest step, or the next above what the search has refused.
    pub bound: u64,
    /// Why the search ended early, where it did: then less might be enough.
    pub stopped: Option<StopReason>,
}

/// Nodes of each search of the first round; a round later it is [`MORE`] times as many, which the search at the bound
/// has from the start: on eight of minimalloc's eleven instances A to K the bound is what fits, on seven of them found
/// with so many, and the rest of the round would be for nothing.
const FIRST_NODES: u64 = 1 << 15;
const MORE: u64 = 8;

/// Halves the gap between what is known to fit and what is not, with at most `nodes` nodes a search, until `control`
/// stops it. The gap is halved in rounds, the first with few nodes a search, so that a good layout is found early.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold.
pub fn smallest(records: &[UsageRecord], nodes: u64, control: &SearchControl<'_>) -> Result<Smallest, PlanError> {
    let mut bound = widest(records)?;
    let mut layout = quick(records, bound, control)?;
    let step = granularity(records);
    let mut round = nodes.min(FIRST_NODES);
    loop {
        // The lowest capacity that this round has not looked at: the widest step is nearly always enough.
        let mut open = bound;
        let mut capacity = bound;
        while open < layout.total() && control.stopped().is_none() {
            control.report(Progress { best: Some(layout.total()), ..Progress::new("smallest arena", round, nodes) });
            let given = if capacity == bound { round.saturating_mul(MORE).min(nodes) } else { round };
            match fit_by_search(records, capacity, given, control) {
                Fit::Fits(found) => layout = found,
                Fit::Infeasible => (bound, open) = (capacity + step, capacity + step),
                Fit::BudgetExhausted => open = capacity + step,
            }
            // Everything is a multiple of `step`.
            capacity = open + layout.total().saturating_sub(open) / step / 2 * step;
        }
        let done = bound >= layout.total() || round >= nodes || control.stopped().is_some();
        if done {
            // A control that stopped after the last search cut nothing.
            let stopped = control.stopped().filter(|_| bound < layout.total());
            return Ok(Smallest { layout, bound, stopped });
        }
        round = round.saturating_mul(MORE).min(nodes);
    }
}
