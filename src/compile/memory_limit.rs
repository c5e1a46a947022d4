//! How much of the device's memory a plan may take.

use super::{error::CompileError, model::CompiledModel, variant::PlacedCandidate};
use crate::{compile::options::Phases, plan::StopReason};

/// A limit, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryLimit {
    /// Of the pool.
    Pool(u64),
    /// Of all of the device's memory.
    Device(u64),
    /// Of the blocks that the allocator takes from the driver for that.
    Blocks(u64),
}

impl MemoryLimit {
    /// What phases are asked to keep within.
    pub(super) const fn of(phases: Phases) -> Option<Self> {
        match phases {
            Phases::Off | Phases::Auto | Phases::Min => None,
            Phases::Budget(bytes) => Some(Self::Pool(bytes)),
            Phases::DeviceBudget(bytes) => Some(Self::Device(bytes)),
        }
    }

    /// How much that is.
    pub(super) const fn bytes(self) -> u64 {
        let (Self::Pool(bytes) | Self::Device(bytes) | Self::Blocks(bytes)) = self;
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
            Self::Blocks(_) => placed.block_bytes,
        }
    }

    /// The bytes of a compiled model that it limits.
    pub(super) fn taken_by(self, compiled: &CompiledModel) -> u64 {
        match self {
            Self::Pool(_) => compiled.plan().bytes(),
            Self::Device(_) => compiled.device_bytes(),
            Self::Blocks(_) => compiled.block_bytes(),
        }
    }

    /// Whether a compiled model keeps within it.
    pub(super) fn holds_compiled(self, compiled: &CompiledModel) -> bool {
        self.taken_by(compiled) <= self.bytes()
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
            Self::Device(bytes) | Self::Blocks(bytes) => {
                CompileError::DeviceBudget { bytes, least, phases, stopped, too_many_rows }
            }
        }
    }
}
