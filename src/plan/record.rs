//! Usage records: what the planner is told about a tensor, and nothing more.

/// The steps that touch a tensor and its size: a *usage record* of Pisarchyk and Lee (2020), section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UsageRecord {
    /// First step that touches the tensor (the one that writes it).
    pub first: usize,
    /// Last step that touches it, inclusive.
    pub last: usize,
    /// Size in the caller's unit.
    pub size: u64,
}

impl UsageRecord {
    /// A record alive from step `first` to step `last`, both inclusive.
    pub const fn new(first: usize, last: usize, size: u64) -> Self {
        Self { first, last, size }
    }

    /// Whether both tensors are alive at some step, and so may not overlap in memory.
    pub const fn conflicts(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}
