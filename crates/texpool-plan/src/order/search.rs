//! The search for the order with the smallest peak.

use std::ops::Range;

use super::{
    beam, bound::always_alive, exact, problem::OrderProblem, region::Region, segments::segments, states::PeakOrder,
};
use crate::control::{SearchControl, StopReason};

/// An order with a small peak, and the proven bound on the peak of every order.
///
/// ```
/// use texpool_plan::{LeastPeak, OrderProblem, OrderTensor, SearchControl, StepUse, least_peak};
///
/// let uses = |reads: &[usize], write: usize| StepUse { reads: reads.to_vec(), writes: vec![write] };
/// let operations =
///     vec![uses(&[0], 1), uses(&[0], 2), uses(&[1], 3), uses(&[2], 4), uses(&[3, 4], 5)];
/// let tensors = [1, 8, 8, 1, 1, 1].map(OrderTensor::new).to_vec();
/// let problem = OrderProblem::new(operations, tensors)?;
/// let least: LeastPeak = least_peak(&problem, LeastPeak::EFFORT, &SearchControl::new());
/// assert_eq!((least.given_peak, least.peak, least.bound), (17, 10, 10));
/// assert!(least.is_proven());
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeastPeak {
    /// Operations of the problem, in the order in which they run.
    pub order: Vec<usize>,
    /// Largest sum of the sizes of tensors that are alive at once, in this order.
    pub peak: u64,
    /// The same in the order of the problem.
    pub given_peak: u64,
    /// No order has a smaller peak.
    pub bound: u64,
    /// Other orders with the same peak; the operations differ in fewer places from the problem's order.
    pub others: Vec<Vec<usize>>,
    /// Number of states from which the searches went on.
    pub states: u64,
    /// Reason why the search ended early. If it is `None`, the same problem always gives the same order.
    pub stopped: Option<StopReason>,
}

impl LeastPeak {
    /// Default number of states of the exact search: some seconds, and some hundred megabytes at most.
    pub const EFFORT: u64 = 1 << 18;

    /// Returns whether no order has a smaller peak.
    pub const fn is_proven(&self) -> bool {
        self.peak <= self.bound
    }
}

/// States that the beam search keeps for each number of operations: first few, for an order to begin with, then more.
const WIDTHS: [usize; 3] = [1, 8, 64];

/// Searches for the order of operations with the smallest peak. Operations that are comparable with all others divide
/// the problem into parts, which are searched apart: first by beam search, then exactly, as far as `effort` reaches.
/// Effort is counted in states, so that the same problem gets the same order on every machine. With an effort of 0,
/// only the narrowest beam runs. A search that `control` stops returns its best order, which is never worse than the
/// problem's, and the bound proven by then. [`LeastPeak`] has an example.
pub fn least_peak(problem: &OrderProblem, effort: u64, control: &SearchControl<'_>) -> LeastPeak {
    let given: Vec<usize> = (0..problem.len()).collect();
    let records = problem.records_of(&given);
    let first: Vec<usize> = first_uses(problem);
    let last: Vec<usize> = last_uses(problem);
    let given_peak = crate::bounds::max_breadth(&records);
    let ranges = segments(problem.after());
    let mut parts: Vec<Part> = ranges.into_iter().map(|range| Part::new(problem, range, &first, &last)).collect();
    // The part with the largest peak comes first: the smallest peak of the whole is at least its smallest one.
    let mut by_peak: Vec<usize> = (0..parts.len()).collect();
    by_peak.sort_by_key(|&part| (std::cmp::Reverse(parts[part].given_peak), part));
    let mut states = 0;
    for part in by_peak {
        states += parts[part].search(problem, effort.saturating_sub(states), (&first, &last), control);
    }
    let bound = parts.iter().map(|part| part.bound).max().unwrap_or(0);
    let peak = parts.iter().map(|part| part.best.peak).max().unwrap_or(0);
    let order: Vec<usize> = parts.iter().flat_map(|part| part.operations(&part.best.order)).collect();
    // Parts whose operations may stay as they are.
    let mostly_given = parts.iter().flat_map(|part| match part.given_peak <= peak {
        true => part.range.clone().collect::<Vec<_>>(),
        false => part.operations(&part.best.order).collect(),
    });
    let mut others: Vec<Vec<usize>> = vec![mostly_given.collect()];
    others.retain(|other| *other != order);
    let stopped = control.stopped().filter(|_| peak > bound);
    LeastPeak { order, peak, given_peak, bound, others, states, stopped }
}

/// Operations that follow each other in every order, and their best order.
struct Part {
    range: Range<usize>,
    given_peak: u64,
    best: PeakOrder,
    bound: u64,
}

impl Part {
    fn new(problem: &OrderProblem, range: Range<usize>, first: &[usize], last: &[usize]) -> Self {
        let region = Region::new(problem, range.clone(), first, last);
        let order: Vec<usize> = (0..region.length).collect();
        let peak = region.peak(&order);
        let bound = if region.length == 1 { peak } else { always_alive(&region) };
        Self { range, given_peak: peak, best: PeakOrder { order, peak }, bound }
    }

    /// Searches for a better order, and returns the number of states that this took.
    fn search(
        &mut self,
        problem: &OrderProblem,
        effort: u64,
        (first, last): (&[usize], &[usize]),
        control: &SearchControl<'_>,
    ) -> u64 {
        let mut states = 0;
        if self.best.peak <= self.bound || control.should_stop() {
            return states;
        }
        let region = Region::new(problem, self.range.clone(), first, last);
        for width in WIDTHS {
            // The widest beam gets a fourth of the effort at most.
            let fits = width == 1 || (width * region.length) as u64 <= effort.saturating_sub(states) / 4;
            if fits && self.best.peak > self.bound {
                let (better, expanded) = beam::search(&region, self.bound, self.best.peak, width, control);
                states += expanded;
                self.improve(better);
            }
        }
        if self.best.peak > self.bound && effort > states {
            let exact = exact::search(&region, self.bound, self.best.peak, effort - states, control);
            states += exact.expanded;
            self.bound = self.bound.max(exact.bound);
            self.improve(exact.better);
        }
        states
    }

    fn improve(&mut self, better: Option<PeakOrder>) {
        if let Some(better) = better.filter(|better| better.peak < self.best.peak) {
            self.best = better;
        }
    }

    /// Returns the operations of the problem for operations of the part.
    fn operations<'a>(&self, order: &'a [usize]) -> impl Iterator<Item = usize> + use<'a> {
        let start = self.range.start;
        order.iter().map(move |&operation| start + operation)
    }
}

fn first_uses(problem: &OrderProblem) -> Vec<usize> {
    let mut first = vec![usize::MAX; problem.tensors().len()];
    for (operation, touched) in problem.touched().iter().enumerate() {
        touched.iter().for_each(|&tensor| first[tensor] = first[tensor].min(operation));
    }
    first
}

fn last_uses(problem: &OrderProblem) -> Vec<usize> {
    let mut last = vec![0; problem.tensors().len()];
    for (operation, touched) in problem.touched().iter().enumerate() {
        touched.iter().for_each(|&tensor| last[tensor] = operation);
    }
    last
}
