//! The smallest arena: the greedy strategies, then the exact search wherever they leave a gap to the widest step.

use super::{Fit, Gap, Longest, fit, greedy_by_breadth, greedy_by_size, greedy_in_order, micro_greedy, strip_packing};
use crate::plan::{
    Layout, PlanError, Ties, UsageRecord, bounds,
    control::{SearchControl, StopReason},
};

/// The smallest arena found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smallest {
    /// The layout.
    pub layout: Layout,
    /// A capacity below which nothing fits: the widest step, or one more than what the search has refused.
    pub bound: u64,
    /// Why the search ended early, where it did: then less might be enough.
    pub stopped: Option<StopReason>,
}

/// Halves the gap between what is known to fit and what is known not to, with at most `nodes` nodes a
/// search, until `control` stops it.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn smallest(records: &[UsageRecord], nodes: u64, control: &SearchControl<'_>) -> Result<Smallest, PlanError> {
    let mut bound = bounds(records)?.offsets;
    let mut layout = greedy_by_size(records, 1)?;
    let others = [
        greedy_by_breadth(records, Ties::Lower)?,
        strip_packing(records, Longest::Largest)?,
        greedy_in_order(records, Gap::Smallest)?,
        micro_greedy(records)?,
    ];
    for other in others {
        if other.total() < layout.total() {
            layout = other;
        }
    }
    // The widest step first: it is nearly always enough.
    let mut capacity = bound;
    while bound < layout.total() {
        match fit(records, capacity, nodes, control)? {
            Fit::Fits(found) => layout = found,
            Fit::Impossible => bound = capacity + 1,
            Fit::Undecided if control.stopped().is_none() && capacity + 1 < layout.total() => {
                capacity = capacity.midpoint(layout.total());
                continue;
            }
            Fit::Undecided => break,
        }
        capacity = bound.midpoint(layout.total().saturating_sub(1));
    }
    Ok(Smallest { layout, bound, stopped: control.stopped() })
}
