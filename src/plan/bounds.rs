//! Lower bounds: what no plan can go below (Pisarchyk and Lee 2020, sections 4.1 and 5.1).

use super::{PlanError, UsageRecord};

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
/// [`PlanError::ReversedInterval`], or [`PlanError::Overflow`] if the sum does not fit in 64 bits.
pub fn naive_total(records: &[UsageRecord]) -> Result<u64, PlanError> {
    let mut total = 0u64;
    for (record, r) in records.iter().enumerate() {
        if r.first > r.last {
            return Err(PlanError::ReversedInterval { record, first: r.first, last: r.last });
        }
        total = total.checked_add(r.size).ok_or(PlanError::Overflow { record })?;
    }
    Ok(total)
}

/// Naïve total, positional maximums and both lower bounds, in `O(n log n + n * load)`.
///
/// # Errors
/// As [`naive_total`].
pub fn bounds(records: &[UsageRecord]) -> Result<Bounds, PlanError> {
    let naive = naive_total(records)?;
    let mut starts: Vec<usize> = (0..records.len()).collect();
    starts.sort_by_key(|&i| records[i].first);
    let mut ends = starts.clone();
    ends.sort_by_key(|&i| records[i].last);

    let mut alive: Vec<u64> = Vec::new();
    let mut maximums: Vec<u64> = Vec::new();
    let (mut breadth, mut widest, mut dead) = (0u64, 0u64, 0);
    for &i in &starts {
        while records[ends[dead]].last < records[i].first {
            let size = records[ends[dead]].size;
            alive.remove(alive.partition_point(|&s| s > size));
            breadth -= size;
            dead += 1;
        }
        let size = records[i].size;
        let at = alive.partition_point(|&s| s > size);
        alive.insert(at, size);
        breadth += size;
        widest = widest.max(breadth);
        maximums.resize(maximums.len().max(alive.len()), 0);
        // Only positions from the newcomer on hold other sizes than before.
        for (maximum, &size) in maximums.iter_mut().zip(&alive).skip(at) {
            *maximum = size.max(*maximum);
        }
    }
    Ok(Bounds { naive, shared_objects: maximums.iter().sum(), offsets: widest, positional_maximums: maximums })
}
