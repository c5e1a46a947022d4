//! Device memory per owner, as allocated by the driver on a device shared with others. An owner's allocations are
//! identified by their labels.

use std::sync::atomic::{AtomicU64, Ordering};

use super::MemoryParts;

/// Label prefix of pool textures.
pub(super) const POOL: &str = "pool";
/// Label prefix of weight textures.
pub(super) const WEIGHTS: &str = "weights";
/// Label prefix of buffers with parameters and row tables.
pub(super) const TABLES: &str = "tables";
/// Label prefix of transfer buffers.
pub(super) const TRANSFER: &str = "transfer";
/// Label prefixes of input and output textures.
const IO: [&str; 2] = ["input", "output"];
/// Prefix of wgpu's internal labels.
const WGPU: &str = "(wgpu internal)";

/// Labels for one owner, unique in the process.
#[derive(Debug)]
pub(super) struct Allocations {
    prefix: String,
    given: AtomicU64,
}

impl Allocations {
    /// Creates labels for a new owner.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { prefix: format!("texpool {}/", NEXT.fetch_add(1, Ordering::Relaxed)), given: AtomicU64::new(0) }
    }

    /// Returns the label for a new texture or buffer of this owner.
    pub(super) fn label(&self, what: &str) -> String {
        self.given.fetch_add(1, Ordering::Relaxed);
        format!("{}{what}", self.prefix)
    }

    /// Returns how many labels were handed out, which equals the number of allocations.
    pub(super) fn given(&self) -> u64 {
        self.given.load(Ordering::Relaxed)
    }

    /// Adds the sizes of this owner's allocations to `parts`.
    pub(super) fn add_to(&self, report: &wgpu::AllocatorReport, parts: &mut MemoryParts) {
        for one in &report.allocations {
            if let Some(name) = one.name.strip_prefix(&self.prefix) {
                *part_mut(parts, name) += one.size;
            }
        }
    }
}

/// Selects the part that an allocation belongs to, by its label without the owner's prefix.
fn part_mut<'a>(parts: &'a mut MemoryParts, name: &str) -> &'a mut u64 {
    match name {
        name if name.starts_with(POOL) => &mut parts.pool,
        name if name.starts_with(WEIGHTS) => &mut parts.weights,
        name if name.starts_with(TABLES) => &mut parts.tables,
        name if name.starts_with(TRANSFER) => &mut parts.transfer,
        name if IO.iter().any(|io| name.starts_with(io)) => &mut parts.io,
        _ => &mut parts.other,
    }
}

/// Returns the bytes that wgpu allocated on the device for internal use.
pub(super) fn of_wgpu(report: &wgpu::AllocatorReport) -> u64 {
    report.allocations.iter().filter(|one| one.name.starts_with(WGPU)).map(|one| one.size).sum()
}
