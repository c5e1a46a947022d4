//! Offsets that a search found, with its lower bound.

use super::buffer::Buffer;
use crate::control::StopReason;

/// Offsets, with the proven lower bound.
#[derive(Clone, Debug)]
pub(super) struct OffsetPlan {
    pub(super) offsets: Vec<u64>,
    /// One past the last unit in use.
    pub(super) total: u64,
    /// Proven lower bound on the size of any plan.
    pub(super) bound: u64,
    /// Reason why the search ended before spending its effort.
    pub(super) stopped: Option<StopReason>,
}

impl OffsetPlan {
    pub(super) fn new(buffers: &[Buffer], offsets: Vec<u64>, bound: u64) -> Self {
        let total = buffers.iter().zip(&offsets).map(|(b, offset)| offset + b.size).max().unwrap_or(0);
        Self { offsets, total, bound, stopped: None }
    }

    /// Returns the smaller of two plans (this one if they are equal), with the better bound of the two.
    pub(super) fn or_smaller(self, other: Self) -> Self {
        let (bound, stopped) = (self.bound.max(other.bound), self.stopped.or(other.stopped));
        let smaller = if other.total < self.total { other } else { self };
        Self { bound, stopped, ..smaller }
    }
}
