//! Usage records: the planner's view of a tensor.

/// The steps at which a tensor is alive, and its size: a *usage record* of Pisarchyk and Lee (2020), section 3.
///
/// ```
/// use texpool_plan::UsageRecord;
///
/// // Written by step 0 and read by step 1; written by step 1 and read by step 2.
/// let (features, scores) = (UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4));
/// assert!(features.conflicts(&scores));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UsageRecord {
    /// First step that uses the tensor (the one that writes it).
    pub first: usize,
    /// Last step that uses it, inclusive.
    pub last: usize,
    /// Size in the caller's unit, such as bytes or texels.
    pub size: u64,
}

impl UsageRecord {
    /// Creates a record that is alive from step `first` to step `last`, both inclusive.
    pub const fn new(first: usize, last: usize, size: u64) -> Self {
        Self { first, last, size }
    }

    /// Returns whether both tensors are alive at some step, so that they must not overlap in memory.
    pub const fn conflicts(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Returns the distinct sizes of records, smallest first.
pub(crate) fn distinct_sizes(records: &[UsageRecord]) -> Vec<u64> {
    let mut sizes: Vec<u64> = records.iter().map(|r| r.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
