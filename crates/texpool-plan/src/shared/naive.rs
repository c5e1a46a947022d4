//! Naïve: an object for each tensor, nothing shared. What every other plan is compared with.

use crate::{
    bounds::naive_total,
    error::PlanError,
    layout::{Layout, LayoutKind, Place},
    record::UsageRecord,
};

/// Gives every tensor an object of its own, in `O(n)`.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold.
pub fn naive(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    naive_total(records)?;
    Ok(Layout {
        problem: LayoutKind::SharedObjects,
        regions: records.iter().map(|r| r.size).collect(),
        places: (0..records.len()).map(|region| Place { region, offset: 0 }).collect(),
    })
}
