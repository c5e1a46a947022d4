//! Finds the smallest arena: by the greedy strategies first, and if they do not reach the widest step, by a search
//! over capacities.

use super::{
    best_greedy::best_greedy,
    ejection::ejection,
    fit::{fit_by_search, granularity},
    search::{Constraints, Fit, takes},
    squeaky_wheel::{Constructor, squeaky_wheel},
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
    /// A lower bound: the widest step, or more if the search has ruled out larger values.
    pub bound: u64,
    /// Reason why the search ended early, if it did. A smaller arena may then exist.
    pub stopped: Option<StopReason>,
}

/// Number of nodes for each capacity in the first round.
const FIRST_NODES: u64 = 1 << 15;
/// Growth factor of the nodes from one round to the next. The lowest capacity gets the next round's nodes from the
/// start. It is the smallest arena on eight of minimalloc's eleven instances A to K, and on seven of them this number
/// of nodes finds it (`cargo bench -p texpool-plan --bench arena` shows arena and bound). The rest of the round
/// would then be wasted.
const NODES_GROWTH: u64 = 8;

/// Finds the smallest arena by bisection between the widest step and the best greedy layout, with at most `nodes`
/// nodes for each capacity, until `control` stops it. The bisection is repeated with more and more nodes, so that a
/// good layout is found early. If more than 16,384 tensors are connected by overlaps in time, they are not searched,
/// and [`Smallest::stopped`] reports it.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
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
    let bound = max_breadth(records);
    let layout = best_greedy(records, bound, control)?;
    let searchable = takes(records);
    // The exact search needs a good layout to start from. If it does not run, ejection gets most of the effort.
    let (constructor, parts) = if searchable { (Constructor::LowestGap, 8) } else { (Constructor::Strip, 3) };
    let (orders, share) = (nodes / u64::from(parts), control.share(1, parts));
    let mut layout = squeaky_wheel(records, constructor, bound, layout.total(), orders, &share).unwrap_or(layout);
    if !searchable {
        layout = ejection(records, bound, &layout, nodes - orders, control).unwrap_or(layout);
    }
    if nodes > 0 && layout.total() > bound && !searchable {
        return Ok(Smallest { layout, bound, stopped: control.stopped().or(Some(StopReason::TooManyTensors)) });
    }
    let smaller = smaller(records, &Constraints::NONE, bound, layout.total(), nodes, control);
    Ok(Smallest { layout: smaller.layout.unwrap_or(layout), bound: smaller.bound, stopped: smaller.stopped })
}

/// A layout smaller than a known one, if the search found any.
pub(crate) struct Smaller {
    pub(crate) layout: Option<Layout>,
    /// A lower bound on the arena.
    pub(crate) bound: u64,
    stopped: Option<StopReason>,
}

/// Searches like [`smallest()`] for tensors with constraints, between a lower bound and the total of a known layout.
pub(crate) fn smaller(
    records: &[UsageRecord],
    constraints: &Constraints,
    bound: u64,
    best_known: u64,
    nodes: u64,
    control: &SearchControl<'_>,
) -> Smaller {
    let step = granularity(records, constraints);
    let mut bound = bound.next_multiple_of(step);
    let (mut layout, mut total) = (None, best_known);
    let mut round_nodes = nodes.min(FIRST_NODES);
    loop {
        // The lowest capacity still undecided in this round. The widest step comes first and is nearly always enough.
        let mut undecided = bound;
        let mut capacity = bound;
        while undecided < total && control.stopped().is_none() {
            let progress = Progress::new("smallest arena", round_nodes, nodes);
            control.report(Progress { best: Some(total), ..progress });
            // The lowest capacity is tried with the nodes of the next round, see `NODES_GROWTH`.
            let more = round_nodes.saturating_mul(NODES_GROWTH).min(nodes);
            match fit_by_search(
                records,
                constraints,
                capacity,
                if capacity == bound { more } else { round_nodes },
                control,
            ) {
                Fit::Fits(smaller) => {
                    total = smaller.total();
                    layout = Some(smaller);
                }
                Fit::Infeasible => (bound, undecided) = (capacity + step, capacity + step),
                Fit::BudgetExhausted => undecided = capacity + step,
            }
            // Only multiples of `step` can be the smallest capacity.
            capacity = undecided + total.saturating_sub(undecided) / step / 2 * step;
        }
        let done = bound >= total || round_nodes >= nodes || control.stopped().is_some();
        if done {
            // A stop after the end of the last search did not cut anything short.
            let stopped = control.stopped().filter(|_| bound < total);
            return Smaller { layout, bound, stopped };
        }
        round_nodes = round_nodes.saturating_mul(NODES_GROWTH).min(nodes);
    }
}
