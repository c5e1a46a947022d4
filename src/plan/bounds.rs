//! Lower bounds: what no plan can go below (Pisarchyk and Lee 2020, sections 4.1 and 5.1).

use std::cmp::Reverse;

use super::{
    error::{InputError, PlanError},
    load::{Load, births, span},
    record::UsageRecord,
};

/// The naïve total and the two lower bounds, in the records' unit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bounds {
    /// Every tensor in memory of its own.
    pub naive: u64,
    /// Sum of the positional maximums: no Shared Objects plan is smaller.
    pub shared_objects: u64,
    /// Largest breadth of a step: no plan of any kind is smaller.
    pub offsets: u64,
    /// The i-th entry is the largest i-th size in any operator profile; never increasing.
    pub positional_maximums: Vec<u64>,
}

/// The sum of all sizes, once every interval is known to be in order.
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

/// Naïve total, positional maximums and both lower bounds, in `O(n log n)`.
///
/// # Errors
/// As [`naive_total`].
pub fn bounds(records: &[UsageRecord]) -> Result<Bounds, PlanError> {
    let naive = naive_total(records)?;
    let offsets = widest(records);
    let points = births(records);
    let mut load = Load::new(points.len());
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_unstable_by_key(|&i| Reverse(records[i].size));
    // With tensors from the largest on, the first at which so many are alive at once is the last of them by size.
    let mut positional_maximums = Vec::new();
    for i in order {
        let (from, to) = span(&points, &records[i]);
        if load.add(from, to) > positional_maximums.len() {
            positional_maximums.push(records[i].size);
        }
    }
    let shared_objects = positional_maximums.iter().sum();
    Ok(Bounds { naive, shared_objects, offsets, positional_maximums })
}

/// The largest breadth of a step. The sizes must add up.
fn widest(records: &[UsageRecord]) -> u64 {
    let mut starts: Vec<(usize, u64)> = records.iter().map(|r| (r.first, r.size)).collect();
    starts.sort_unstable();
    let mut ends: Vec<(usize, u64)> = records.iter().map(|r| (r.last, r.size)).collect();
    ends.sort_unstable();
    let (mut breadth, mut widest, mut dead) = (0u64, 0u64, 0);
    for (first, size) in starts {
        while ends[dead].0 < first {
            breadth -= ends[dead].1;
            dead += 1;
        }
        breadth += size;
        widest = widest.max(breadth);
    }
    widest
}
