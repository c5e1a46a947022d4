//! A session's memory on its device: each part as planned and as allocated, and the peak.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::grouped;
use texpool_gpu::{Memory, MemoryParts};

/// Device memory of a session. All numbers are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceMemoryReport {
    /// Allocated by the driver, or planned if the driver does not report allocations.
    #[serde(flatten)]
    pub parts: PartBytes,
    /// Largest sum of the parts since loading; `None` if the driver does not report allocations.
    pub allocated_peak: Option<u64>,
    /// Blocks that the allocator has taken from the driver, for the whole device.
    pub reserved: Option<u64>,
    /// Peak of the reserved bytes since loading.
    pub reserved_peak: Option<u64>,
    /// The planned bytes of each part.
    pub planned: PartBytes,
}

/// Memory by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartBytes {
    /// Textures that hold intermediate tensors.
    pub pool: u64,
    /// Textures of weights.
    pub weights: u64,
    /// Textures of inputs and outputs outside the pool.
    pub io: u64,
    /// Buffers of the dispatches' parameters and row tables.
    pub tables: u64,
    /// Buffers for transfers between host and device.
    pub transfer: u64,
    /// All other memory; allocated figures include wgpu's own.
    pub other: u64,
}

impl PartBytes {
    /// Returns the parts by name.
    pub(super) const fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("pool", self.pool),
            ("weights", self.weights),
            ("inputs and outputs beside the pool", self.io),
            ("tables of the dispatches", self.tables),
            ("transfer buffers", self.transfer),
            ("other, with wgpu's own buffers", self.other),
        ]
    }

    /// Returns the sum of all parts.
    pub fn sum(&self) -> u64 {
        self.named().iter().map(|(_, bytes)| bytes).sum()
    }
}

impl From<MemoryParts> for PartBytes {
    fn from(parts: MemoryParts) -> Self {
        let MemoryParts { pool, weights, io, tables, transfer, other, .. } = parts;
        Self { pool, weights, io, tables, transfer, other }
    }
}

impl DeviceMemoryReport {
    /// Creates the report of a session's memory.
    pub fn from_memory(memory: &Memory) -> Self {
        Self {
            parts: memory.allocated.unwrap_or(memory.planned).into(),
            allocated_peak: memory.peak.map(|peak| peak.allocated),
            reserved: memory.reserved,
            reserved_peak: memory.peak.map(|peak| peak.reserved),
            planned: memory.planned.into(),
        }
    }
}

impl fmt::Display for DeviceMemoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, what: &str, planned: &str, allocated: u64| {
            writeln!(f, "  {what:<46} {planned:>14} {:>14}", grouped(allocated))
        };
        writeln!(f, "  {:<46} {:>14} {:>14}", "bytes of device memory", "planned", "allocated")?;
        for ((what, planned), (_, allocated)) in self.planned.named().into_iter().zip(self.parts.named()) {
            line(f, what, &grouped(planned), allocated)?;
        }
        line(f, "together", &grouped(self.planned.sum()), self.parts.sum())?;
        let most = [
            ("the most at a time, from loading on", self.allocated_peak),
            ("blocks taken from the driver at most", self.reserved_peak),
        ];
        most.into_iter().try_for_each(|(what, bytes)| bytes.map_or(Ok(()), |bytes| line(f, what, "", bytes)))
    }
}
