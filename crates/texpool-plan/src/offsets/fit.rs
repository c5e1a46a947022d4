//! Whether an arena of a given capacity can hold all tensors: decided by the widest step if that is enough, else by the
//! greedy strategies, else by the search.

use super::{
    best_greedy::best_greedy,
    search::{Fit, search},
};
use crate::{
    bounds::{max_breadth, naive_total},
    control::SearchControl,
    error::PlanError,
    gcd::gcd,
    record::UsageRecord,
};

/// Looks for a layout within `capacity`, until `control` stops it: the greedy strategies first, then a search that
/// places at most `nodes` tensors in all. There is no search where more than 16,384 tensors are connected by overlaps in
/// time.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold.
///
/// ```
/// use texpool_plan::{UsageRecord, SearchControl, offsets::{Fit, fit}};
///
/// let records = [UsageRecord::new(0, 1, 4), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 3, 4)];
/// let control = SearchControl::new();
/// assert!(matches!(fit(&records, 8, 1000, &control)?, Fit::Fits(layout) if layout.total() == 8));
/// assert_eq!(fit(&records, 7, 1000, &control)?, Fit::Infeasible);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
pub fn fit(records: &[UsageRecord], capacity: u64, nodes: u64, control: &SearchControl<'_>) -> Result<Fit, PlanError> {
    naive_total(records)?;
    if max_breadth(records) > capacity {
        return Ok(Fit::Infeasible);
    }
    let layout = best_greedy(records, capacity, control)?;
    if layout.total() <= capacity {
        return Ok(Fit::Fits(layout));
    }
    Ok(fit_by_search(records, capacity, nodes, control))
}

/// [`fit()`] without the greedy strategies.
pub(crate) fn fit_by_search(records: &[UsageRecord], capacity: u64, nodes: u64, control: &SearchControl<'_>) -> Fit {
    // The search puts tensors on top of each other, so what it reaches is a sum of sizes and a multiple of their common
    // divisor: with the capacity rounded down to one, more branches are seen to be too high.
    let capacity = capacity - capacity % granularity(records);
    search(records, capacity, nodes, control)
}

/// The greatest common divisor of all sizes. The smallest arena is a multiple of it.
pub(super) fn granularity(records: &[UsageRecord]) -> u64 {
    records.iter().fold(0, |divisor, record| gcd(divisor, record.size)).max(1)
}
