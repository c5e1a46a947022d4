//! Naïve: one object for each tensor, without sharing. The baseline for all other plans.

use crate::{
    bounds::naive_total,
    error::PlanError,
    layout::{Layout, LayoutKind, Place},
    record::UsageRecord,
};

/// Gives every tensor a separate object, in `O(n)`.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
pub fn naive(records: &[UsageRecord]) -> Result<Layout, PlanError> {
    naive_total(records)?;
    Ok(Layout {
        problem: LayoutKind::SharedObjects,
        regions: records.iter().map(|r| r.size).collect(),
        places: (0..records.len()).map(|region| Place { region, offset: 0 }).collect(),
    })
}
