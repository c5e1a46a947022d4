//! The smallest arena: the greedy strategies first, and where they do not reach the widest step, a search over
//! capacities.

use super::{
    best_greedy::best_greedy,
    fit::{fit_by_search, granularity},
    search::{Fit, takes},
};
use crate::{
    bounds::{max_breadth, naive_total},
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
    /// A lower bound: the widest step, or more where the search has ruled that out.
    pub bound: u64,
    /// Why the search ended early, if it did. A smaller arena may exist then.
    pub stopped: Option<StopReason>,
}

/// Nodes for each capacity in the first round.
const FIRST_NODES: u64 = 1 << 15;
/// From one round to the next, nodes are multiplied by this. The lowest capacity has the next round's nodes from the
/// start: it is the smallest arena on eight of minimalloc's eleven instances A to K, and on seven of them so many nodes
/// find it (`cargo bench -p texpool-plan --bench arena` shows arena and bound), so that the rest of the round
/// would be wasted.
const NODES_GROWTH: u64 = 8;

/// The smallest arena, found by bisection between the widest step and the best greedy layout, with at most `nodes`
/// nodes for each capacity, until `control` stops it. The bisection is repeated with more and more nodes, so that a
/// good layout is found early. More than 16,384 tensors that are connected by overlaps in time are not searched, and
/// [`Smallest::stopped`] says so.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold.
///
/// ```
/// use texpool_plan::{SearchControl, UsageRecord, offsets::{Smallest, smallest}};
///
/// let records = [UsageRecord::new(0, 1, 4), UsageRecord::new(1, 2, 6), UsageRecord::new(2, 3, 4)];
/// let found: Smallest = smallest(&records, 1000, &SearchControl::new())?;
/// // Ten units are alive at steps 1 and 2, so nothing smaller exists.
/// assert_eq!((found.layout.total(), found.bound), (10, 10));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
pub fn smallest(records: &[UsageRecord], nodes: u64, control: &SearchControl<'_>) -> Result<Smallest, PlanError> {
    naive_total(records)?;
    let mut bound = max_breadth(records);
    let mut layout = best_greedy(records, bound, control)?;
    if nodes > 0 && layout.total() > bound && !takes(records) {
        return Ok(Smallest { layout, bound, stopped: control.stopped().or(Some(StopReason::TooManyTensors)) });
    }
    let step = granularity(records);
    let mut round_nodes = nodes.min(FIRST_NODES);
    loop {
        // The lowest capacity that this round has not decided; the widest step, which comes first, is nearly always
        // enough.
        let mut undecided = bound;
        let mut capacity = bound;
        while undecided < layout.total() && control.stopped().is_none() {
            let progress = Progress::new("smallest arena", round_nodes, nodes);
            control.report(Progress { best: Some(layout.total()), ..progress });
            // The lowest capacity is tried with the nodes of the next round, see `NODES_GROWTH`.
            let more = round_nodes.saturating_mul(NODES_GROWTH).min(nodes);
            match fit_by_search(records, capacity, if capacity == bound { more } else { round_nodes }, control) {
                Fit::Fits(found) => layout = found,
                Fit::Infeasible => (bound, undecided) = (capacity + step, capacity + step),
                Fit::BudgetExhausted => undecided = capacity + step,
            }
            // Only multiples of `step` can be the smallest.
            capacity = undecided + layout.total().saturating_sub(undecided) / step / 2 * step;
        }
        let done = bound >= layout.total() || round_nodes >= nodes || control.stopped().is_some();
        if done {
            // What stopped the control after the last search had ended has cut nothing short.
            let stopped = control.stopped().filter(|_| bound < layout.total());
            return Ok(Smallest { layout, bound, stopped });
        }
        round_nodes = round_nodes.saturating_mul(NODES_GROWTH).min(nodes);
    }
}
