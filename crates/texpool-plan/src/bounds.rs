//! Lower bounds: no plan is smaller (Pisarchyk and Lee 2020, sections 4.1 and 5.1).

use std::cmp::Reverse;

use super::{
    error::{InputError, PlanError},
    live_counts::LiveCounts,
    record::UsageRecord,
    sections::{live_sections, section_starts},
};

/// The naïve total and the two lower bounds, in the records' unit.
///
/// ```
/// use texpool_plan::{Bounds, UsageRecord, bounds};
///
/// let records = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 3, 8)];
/// let bounds: Bounds = bounds(&records)?;
/// // Steps 1 and 2 need an 8 and a 4 at once, so two objects, and an arena of 12.
/// assert_eq!((bounds.naive, bounds.shared_objects, bounds.offsets), (20, 12, 12));
/// assert_eq!(bounds.positional_maximums, [8, 4]);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bounds {
    /// Total if every tensor gets separate memory.
    pub naive: u64,
    /// Sum of the positional maximums: a lower bound for Shared Objects plans.
    pub shared_objects: u64,
    /// Largest breadth of a step: a lower bound for plans of any kind.
    pub offsets: u64,
    /// The i-th entry is the largest of the i-th largest sizes in all operator profiles. The entries never increase.
    pub positional_maximums: Vec<u64>,
}

/// Returns the sum of all sizes, and checks that no interval is reversed.
///
/// ```
/// use texpool_plan::{UsageRecord, naive_total};
///
/// assert_eq!(naive_total(&[UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4)])?, 12);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or if the sum does not fit in 64 bits.
pub fn naive_total(records: &[UsageRecord]) -> Result<u64, PlanError> {
    let mut total = 0u64;
    for (record, r) in records.iter().enumerate() {
        if r.first > r.last {
            return Err(InputError::ReversedInterval { record, first: r.first, last: r.last }.into());
        }
        total = total.checked_add(r.size).ok_or(InputError::Overflow { record })?;
    }
    Ok(total)
}

/// Computes the naïve total, the positional maximums and both lower bounds, in `O(n log n)`. [`Bounds`]
/// has an example.
///
/// # Errors
/// The errors of [`naive_total`].
pub fn bounds(records: &[UsageRecord]) -> Result<Bounds, PlanError> {
    let naive = naive_total(records)?;
    let offsets = max_breadth(records);
    let starts = section_starts(records);
    let mut alive = LiveCounts::new(starts.len());
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_unstable_by_key(|&i| Reverse(records[i].size));
    // The i-th positional maximum is the largest size such that i tensors of at least this size are alive at once.
    // Tensors are added from the largest to the smallest, so it is the size of the first tensor with which i are
    // alive at once.
    let mut positional_maximums = Vec::new();
    for i in order {
        let (from, to) = live_sections(&starts, &records[i]);
        if alive.add(from, to) > positional_maximums.len() {
            positional_maximums.push(records[i].size);
        }
    }
    let shared_objects = positional_maximums.iter().sum();
    Ok(Bounds { naive, shared_objects, offsets, positional_maximums })
}

/// Returns the largest breadth of a step, in `O(n log n)`. The sum of sizes must not overflow.
pub(super) fn max_breadth(records: &[UsageRecord]) -> u64 {
    let mut starts: Vec<(usize, u64)> = records.iter().map(|r| (r.first, r.size)).collect();
    starts.sort_unstable();
    let mut ends: Vec<(usize, u64)> = records.iter().map(|r| (r.last, r.size)).collect();
    ends.sort_unstable();
    let (mut breadth, mut max, mut dead) = (0u64, 0u64, 0);
    for (first, size) in starts {
        while ends[dead].0 < first {
            breadth -= ends[dead].1;
            dead += 1;
        }
        breadth += size;
        max = max.max(breadth);
    }
    max
}
