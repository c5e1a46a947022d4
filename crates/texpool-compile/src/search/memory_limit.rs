//! Limits on a plan's memory.

use super::variant::PlacedCandidate;
use crate::{
    error::CompileError,
    model::CompiledModel,
    options::{Objective, WeightStorage},
};
use texpool_plan::StopReason;

/// A limit in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryLimit {
    /// Limit on the pool.
    Pool(u64),
    /// Limit on the total device memory.
    Device(u64),
    /// Limit on the allocator blocks that hold the device memory.
    Blocks(u64),
}

impl MemoryLimit {
    /// Returns the limit that `objective` sets, if any.
    pub(crate) const fn of(objective: Objective) -> Option<Self> {
        match objective {
            Objective::Fastest | Objective::Balanced | Objective::Smallest => None,
            Objective::Pool(bytes) => Some(Self::Pool(bytes)),
            Objective::Device(bytes) => Some(Self::Device(bytes)),
        }
    }

    /// Returns the limit in bytes.
    pub(crate) const fn bytes(self) -> u64 {
        let (Self::Pool(bytes) | Self::Device(bytes) | Self::Blocks(bytes)) = self;
        bytes
    }

    /// Returns whether a plan keeps within the limit.
    pub(crate) const fn holds(self, placed: &PlacedCandidate) -> bool {
        self.bytes_of(placed) <= self.bytes()
    }

    /// Returns a limit on the same size of another number of bytes.
    pub(crate) const fn with_bytes(self, bytes: u64) -> Self {
        match self {
            Self::Pool(_) => Self::Pool(bytes),
            Self::Device(_) => Self::Device(bytes),
            Self::Blocks(_) => Self::Blocks(bytes),
        }
    }

    /// Returns the size of a plan that this limit applies to, in bytes.
    pub(crate) const fn bytes_of(self, placed: &PlacedCandidate) -> u64 {
        match self {
            Self::Pool(_) => placed.bytes,
            Self::Device(_) => placed.device_bytes,
            Self::Blocks(_) => placed.block_bytes,
        }
    }

    /// Returns the size of a compiled model that this limit applies to, in bytes.
    pub(crate) fn taken_by(self, compiled: &CompiledModel) -> u64 {
        match self {
            Self::Pool(_) => compiled.plan().bytes(),
            Self::Device(_) => compiled.device_bytes(),
            Self::Blocks(_) => compiled.block_bytes(),
        }
    }

    /// Returns whether a compiled model keeps within the limit.
    pub(crate) fn holds_compiled(self, compiled: &CompiledModel) -> bool {
        self.taken_by(compiled) <= self.bytes()
    }

    /// Returns the error for a search whose smallest plan exceeds the limit.
    pub(crate) fn refused(
        self,
        smallest: Option<&CompiledModel>,
        stopped: Option<StopReason>,
        too_many_rows: Option<u64>,
    ) -> CompileError {
        match self {
            Self::Pool(bytes) => {
                let least = smallest.map_or(0, |smallest| smallest.plan().bytes());
                let tiled = smallest.is_none_or(|smallest| smallest.tiled().is_some());
                CompileError::Budget { bytes, least, tiled, stopped, too_many_rows }
            }
            Self::Device(bytes) | Self::Blocks(bytes) => {
                let least = smallest.map_or(0, CompiledModel::device_bytes);
                // If the smallest plan keeps all weights resident, no streaming was tried; it is the plan used without
                // a budget.
                let tiled = smallest.is_none_or(|smallest| {
                    smallest.tiled().is_some() || smallest.lowering.weights == WeightStorage::Resident
                });
                CompileError::DeviceBudget { bytes, least, tiled, stopped, too_many_rows }
            }
        }
    }
}

impl CompiledModel {
    /// Returns the error of the search that found this plan, if the plan exceeds the budget that was requested.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn refusal(&self) -> Option<CompileError> {
        let exceeded = MemoryLimit::of(self.objective).filter(|limit| !limit.holds_compiled(self));
        exceeded.map(|limit| limit.refused(Some(self), self.stopped, self.too_many_rows))
    }
}
