//! What a search has found.

use super::buffer::Buffer;
use crate::control::StopReason;

/// Offsets, and what is proven of them.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) offsets: Vec<u64>,
    /// One past the last unit in use.
    pub(super) total: u64,
    /// No plan is smaller.
    pub(super) bound: u64,
    /// What ended the search before it had spent its effort.
    pub(super) stopped: Option<StopReason>,
}

impl Found {
    pub(super) fn new(buffers: &[Buffer], offsets: Vec<u64>, bound: u64) -> Self {
        let total = buffers.iter().zip(&offsets).map(|(b, offset)| offset + b.size).max().unwrap_or(0);
        Self { offsets, total, bound, stopped: None }
    }

    /// The smaller of two plans, this one where they are equal, with what is known from either.
    pub(super) fn or_smaller(self, other: Self) -> Self {
        let (bound, stopped) = (self.bound.max(other.bound), self.stopped.or(other.stopped));
        let smaller = if other.total < self.total { other } else { self };
        Self { bound, stopped, ..smaller }
    }
}
