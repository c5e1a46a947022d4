//! Decides whether an arena of a given capacity can hold all tensors: by the widest step if that is enough, else by
//! the greedy strategies, else by the search.

use super::{
    best_greedy::best_greedy,
    search::{Constraints, Fit, search},
};
use crate::{
    bounds::{max_breadth, naive_total},
    control::SearchControl,
    error::PlanError,
    gcd::gcd,
    record::UsageRecord,
};

/// Searches for a layout within `capacity`, until `control` stops it. The greedy strategies come first, then a search
/// that places at most `nodes` tensors in total. If more than 16,384 tensors are connected by overlaps in time, they
/// are not searched.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
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
    Ok(fit_by_search(records, &Constraints::NONE, capacity, nodes, control))
}

/// Like [`fit()`], without the greedy strategies.
pub(crate) fn fit_by_search(
    records: &[UsageRecord],
    constraints: &Constraints,
    capacity: u64,
    nodes: u64,
    control: &SearchControl<'_>,
) -> Fit {
    // The search stacks tensors, so the heights that it reaches are sums of sizes and multiples of their greatest
    // common divisor. With the capacity rounded down to such a multiple, more branches are recognised as too high.
    let capacity = capacity - capacity % granularity(records, constraints);
    search(records, constraints, capacity, nodes, control)
}

/// Returns a number that the smallest arena is a multiple of: the greatest common divisor of all sizes, ends of needed
/// bytes and fixed offsets, and of the alignments that do not divide it.
pub(crate) fn granularity(records: &[UsageRecord], constraints: &Constraints) -> u64 {
    let sizes = records.iter().map(|record| record.size);
    let fixed = constraints.of_each.iter().filter_map(|constraint| constraint.fixed);
    let pieces = constraints.of_each.iter().flat_map(|constraint| &constraint.pieces);
    let ends = pieces.flat_map(|piece| [piece.bytes.start, piece.bytes.end]);
    let mut divisor = sizes.chain(fixed).chain(ends).fold(0, gcd).max(1);
    // Rounding an offset up to a multiple of an alignment keeps the divisors that it shares with the alignment.
    let aligns = || constraints.of_each.iter().map(|constraint| constraint.align);
    while let Some(align) = aligns().find(|align| !divisor.is_multiple_of(*align) && !align.is_multiple_of(divisor)) {
        divisor = gcd(divisor, align);
    }
    divisor
}
