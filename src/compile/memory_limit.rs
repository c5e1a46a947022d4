//! How much of the device's memory a plan may take.

use super::{error::CompileError, variant::PlacedCandidate};
use crate::plan::StopReason;

/// A limit, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryLimit {
    /// Of the pool.
    Pool(u64),
    /// Of all of the device's memory.
    Device(u64),
}

impl MemoryLimit {
    /// How much that is.
    pub(super) const fn bytes(self) -> u64 {
        let (Self::Pool(bytes) | Self::Device(bytes)) = self;
        bytes
    }

    /// Whether a plan keeps within it.
    pub(super) const fn holds(self, placed: &PlacedCandidate) -> bool {
        self.taken(placed) <= self.bytes()
    }

    /// The bytes of a plan that it limits.
    pub(super) const fn taken(self, placed: &PlacedCandidate) -> u64 {
        match self {
            Self::Pool(_) => placed.bytes,
            Self::Device(_) => placed.device_bytes,
        }
    }

    /// The error where `least` bytes are too many.
    pub(super) const fn refused(
        self,
        least: u64,
        phases: bool,
        stopped: Option<StopReason>,
        too_many_rows: Option<u64>,
    ) -> CompileError {
        match self {
            Self::Pool(bytes) => CompileError::Budget { bytes, least, phases, stopped, too_many_rows },
            Self::Device(bytes) => CompileError::DeviceBudget { bytes, least, phases, stopped, too_many_rows },
        }
    }
}
