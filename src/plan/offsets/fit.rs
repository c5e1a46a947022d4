//! Whether an arena of a given capacity can hold all tensors: answered by what all sizes and the widest step come to,
//! by the greedy strategies, and at last by the search.

use super::{
    quick::{quick, widest},
    search::{Found, search},
};
use crate::plan::{control::SearchControl, error::PlanError, layout::Layout, record::UsageRecord};

/// The answer of [`fit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// A layout within the capacity.
    Fits(Layout),
    /// No layout is within the capacity: some step is wider, or the search saw every layout.
    Infeasible,
    /// The search ran out of nodes, or was stopped.
    BudgetExhausted,
}

/// Looks for a layout within `capacity`, until `control` stops it: the greedy strategies first, then a search that
/// places at most `nodes` tensors in all. Where more than 4096 tensors hang
/// together, each alive with another, there is no search.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold.
///
/// ```
/// use texpool::plan::{UsageRecord, SearchControl, offsets::{Fit, fit}};
///
/// let records = [UsageRecord::new(0, 1, 4), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 3, 4)];
/// let control = SearchControl::new();
/// assert!(matches!(fit(&records, 8, 1000, &control)?, Fit::Fits(layout) if layout.total() == 8));
/// assert_eq!(fit(&records, 7, 1000, &control)?, Fit::Infeasible);
/// # Ok::<(), texpool::plan::PlanError>(())
/// ```
pub fn fit(records: &[UsageRecord], capacity: u64, nodes: u64, control: &SearchControl<'_>) -> Result<Fit, PlanError> {
    if widest(records)? > capacity {
        return Ok(Fit::Infeasible);
    }
    let layout = quick(records, capacity, control)?;
    if layout.total() <= capacity {
        return Ok(Fit::Fits(layout));
    }
    Ok(fit_by_search(records, capacity, nodes, control))
}

/// [`fit()`] without the greedy strategies.
pub(super) fn fit_by_search(records: &[UsageRecord], capacity: u64, nodes: u64, control: &SearchControl<'_>) -> Fit {
    // A tensor that lies on others lies at a sum of sizes.
    let capacity = capacity - capacity % granularity(records);
    match search(records, capacity, nodes, control) {
        Found::Layout(layout) => Fit::Fits(layout),
        Found::Nothing => Fit::Infeasible,
        Found::GaveUp => Fit::BudgetExhausted,
    }
}

/// What divides all sizes: no smallest arena is anything but a multiple of it.
pub(super) fn granularity(records: &[UsageRecord]) -> u64 {
    fn common(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { common(b, a % b) }
    }
    records.iter().fold(0, |divisor, record| common(divisor, record.size)).max(1)
}
