//! Device memory that an executor uses.

use std::sync::Arc;

use super::Executor;
use crate::{Memory, MemoryParts, allocations::Allocations, carry::Carry, pool::PoolSource, ports::Port};

impl Executor {
    /// Returns the current and peak use of device memory. Queries the driver, which enumerates all allocations of the
    /// device.
    pub fn memory(&self) -> Memory {
        let (planned, shared) = self.planned();
        // A forked process cannot query the driver.
        let asked =
            self.gpu.check_process().ok().and_then(|()| self.account.sample(&self.gpu, self.weight_allocations()));
        let Some(sample) = asked else { return Memory { planned, shared, ..Memory::default() } };
        // With `wgpu::InstanceFlags::DISCARD_HAL_LABELS` the driver sees no labels, so no allocation can be
        // attributed.
        let is_labelled = sample.labelled.sum() > 0 || planned.sum() == 0;
        let allocated = MemoryParts { other: sample.labelled.other + sample.of_wgpu, ..sample.labelled };
        let allocated = is_labelled.then_some(allocated);
        Memory { planned, allocated, shared, reserved: Some(sample.reserved), peak: sample.peak }
    }

    /// Returns the planned memory, and the part of it that others use, too.
    fn planned(&self) -> (MemoryParts, u64) {
        let io = self.inputs.iter().chain(&self.outputs).map(Port::bytes).sum();
        let mut planned = MemoryParts { io, transfer: self.staging.bytes(), ..MemoryParts::default() };
        planned.tables = self.carries.iter().map(Carry::table_bytes).sum();
        let mut shared = 0;
        if let Some(held) = &self.resident {
            planned.pool = self.compiled.plan().bytes();
            planned.weights = held.weights.bytes();
            planned.tables += held.program.table_bytes();
            planned.other = held.textures.spare_bytes();
            shared = if Arc::strong_count(&held.weights) > 1 { planned.weights } else { 0 };
        }
        if let PoolSource::Shared { pool, .. } = &self.pool {
            // A shared pool exists even while this session is not loaded on the device.
            planned.pool = pool.bytes();
            shared += planned.pool;
        }
        (planned, shared)
    }

    /// Updates the peak if anything was allocated since the last query.
    pub(super) fn note(&self) {
        self.account.note(&self.gpu, self.weight_allocations());
    }

    fn weight_allocations(&self) -> Option<&Allocations> {
        self.resident.as_ref().map(|held| held.weights.allocations())
    }
}
