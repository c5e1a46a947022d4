//! Sections of the timeline. One begins at each step at which a tensor is born.
//!
//! Between two births tensors only die, so all tensors that are alive together are also alive together at the first
//! step of some section. The number of sections is at most the number of tensors, however far apart steps are.
//! (minimalloc also begins sections where tensors die.)

use super::record::UsageRecord;

/// Returns the first step of each section.
pub(super) fn section_starts(records: &[UsageRecord]) -> Vec<usize> {
    let mut starts: Vec<usize> = records.iter().map(|r| r.first).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Returns the sections at whose first step a record is alive: the first, and one past the last.
pub(super) fn live_sections(starts: &[usize], r: &UsageRecord) -> (usize, usize) {
    let from = starts.partition_point(|&start| start < r.first);
    (from, from + starts[from..].partition_point(|&start| start <= r.last))
}
