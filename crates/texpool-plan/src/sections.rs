//! Sections of the timeline: one begins at each step at which some tensor is born.
//!
//! Between two births tensors only die, so whatever is alive together is alive together at the first step of a section.
//! There are no more sections than tensors, however far apart steps are. (minimalloc begins sections where tensors die,
//! too.)

use super::record::UsageRecord;

/// The first step of each section.
pub(super) fn section_starts(records: &[UsageRecord]) -> Vec<usize> {
    let mut starts: Vec<usize> = records.iter().map(|r| r.first).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// The sections at whose first step a record is alive: the first, and one past the last.
pub(super) fn live_sections(starts: &[usize], r: &UsageRecord) -> (usize, usize) {
    let from = starts.partition_point(|&start| start < r.first);
    (from, from + starts[from..].partition_point(|&start| start <= r.last))
}
