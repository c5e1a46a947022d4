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
/// Upper limit on the capacities of a sweep. Above it they are more than a step apart.
const MAX_SWEPT: u64 = 128;
/// Number of capacities in a row that are undecided at the end of a sweep. On minimalloc's D and J up to six are
/// undecided between two that are found.
const MAX_UNDECIDED: u32 = 8;

/// Number of tensors from which ejection comes before the exact search. With 10,000 tensors of up to 500 steps and ten
/// seconds, the arena ends 2.3 % above the bound, and without ejection 4.9 %. Small sets are solved before it has begun.
const MIN_EJECTED: usize = 512;
/// Ejections for each node that a capacity may take. Both take about as long then.
const EJECTIONS_PER_NODE: u64 = 4;

/// Finds the smallest arena by bisection between the widest step and the best greedy layout, with at most `nodes`
/// nodes for each capacity, until `control` stops it. Then it tries the capacities just below, one after another. Both
/// are repeated with more and more nodes, so that a good layout is found early. If more than 16,384 tensors are
/// connected by overlaps in time, they are not searched, and [`Smallest::stopped`] reports it.
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
    } else if records.len() >= MIN_EJECTED {
        let placements = nodes.saturating_mul(EJECTIONS_PER_NODE);
        layout = ejection(records, bound, &layout, placements, &control.share(3, 4)).unwrap_or(layout);
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
    let (layout, total, bound) = (None, best_known, bound.next_multiple_of(step));
    let mut search = Capacities { records, constraints, control, nodes, step, bound, layout, total };
    let mut round_nodes = nodes.min(FIRST_NODES);
    loop {
        search.bisect(round_nodes);
        let is_last = round_nodes >= nodes;
        // With equal nodes a sweep takes up to eight times as long as the bisection, which is still less than the
        // lowest capacity of a next round.
        search.sweep(if is_last { round_nodes / NODES_GROWTH } else { round_nodes });
        if search.is_over() || is_last {
            let Capacities { layout, bound, total, .. } = search;
            // A stop after the end of the last search did not cut anything short.
            let stopped = control.stopped().filter(|_| bound < total);
            return Smaller { layout, bound, stopped };
        }
        round_nodes = round_nodes.saturating_mul(NODES_GROWTH).min(nodes);
    }
}

/// A search over capacities between a lower bound and the smallest known total.
struct Capacities<'a, 'c> {
    records: &'a [UsageRecord],
    constraints: &'a Constraints,
    control: &'a SearchControl<'c>,
    /// Upper limit on the nodes for each capacity.
    nodes: u64,
    /// The smallest capacity is a multiple of this.
    step: u64,
    bound: u64,
    layout: Option<Layout>,
    total: u64,
}

impl Capacities<'_, '_> {
    fn is_over(&self) -> bool {
        self.bound >= self.total || self.control.stopped().is_some()
    }

    /// Searches for a layout within one capacity. Returns false if that is undecided.
    fn decide(&mut self, capacity: u64, nodes: u64) -> bool {
        let progress = Progress::new("smallest arena", nodes, self.nodes);
        self.control.report(Progress { best: Some(self.total), ..progress });
        match fit_by_search(self.records, self.constraints, capacity, nodes, self.control) {
            Fit::Fits(smaller) => {
                self.total = smaller.total();
                self.layout = Some(smaller);
            }
            Fit::Infeasible => self.bound = capacity + self.step,
            Fit::BudgetExhausted => return false,
        }
        true
    }

    /// Halves the distance between the smallest known total and the capacities that are undecided in this round. The
    /// widest step comes first and is nearly always enough.
    fn bisect(&mut self, round_nodes: u64) {
        // The lowest capacity still undecided.
        let mut undecided = self.bound;
        let mut capacity = self.bound;
        while undecided < self.total && !self.is_over() {
            // The lowest capacity is tried with the nodes of the next round, see `NODES_GROWTH`.
            let more = round_nodes.saturating_mul(NODES_GROWTH).min(self.nodes);
            let nodes = if capacity == self.bound { more } else { round_nodes };
            undecided = if self.decide(capacity, nodes) { undecided.max(self.bound) } else { capacity + self.step };
            // Only multiples of `step` can be the smallest capacity.
            capacity = undecided + self.total.saturating_sub(undecided) / self.step / 2 * self.step;
        }
    }

    /// Tries capacities one after another below the smallest known total, the greatest first, until several in a row
    /// are undecided. A capacity may take a hundred times as many nodes as its neighbours, so a bisection passes over
    /// easy ones.
    fn sweep(&mut self, nodes: u64) {
        let apart = (self.total.saturating_sub(self.bound) / self.step).div_ceil(MAX_SWEPT).max(1) * self.step;
        let mut capacity = self.total.next_multiple_of(self.step);
        let mut undecided = 0;
        // The lowest capacity has had more nodes.
        while !self.is_over() && undecided < MAX_UNDECIDED && capacity > self.bound.saturating_add(apart) {
            capacity -= apart;
            undecided = if self.decide(capacity, nodes) { 0 } else { undecided + 1 };
            capacity = capacity.min(self.total.next_multiple_of(self.step));
        }
    }
}
