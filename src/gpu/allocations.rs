//! What the driver has set aside for one owner, on a device that others use, too: found by the labels of what it made.

use std::sync::atomic::{AtomicU64, Ordering};

use super::MemoryParts;

/// What labels of the pool's textures begin with.
pub(super) const POOL: &str = "pool";
/// What those of textures of weights begin with.
pub(super) const WEIGHTS: &str = "weights";
/// What those of buffers of parameters and row tables begin with.
pub(super) const TABLES: &str = "tables";
/// What those of buffers that values go through begin with.
pub(super) const TRANSFER: &str = "transfer";
/// The same of textures of inputs, and of outputs.
const IO: [&str; 2] = ["input", "output"];
/// What wgpu's own labels begin with.
const WGPU: &str = "(wgpu internal)";

/// Labels that no other owner in the process gives.
#[derive(Debug)]
pub(super) struct Allocations {
    prefix: String,
    given: AtomicU64,
}

impl Allocations {
    /// Labels of a new owner.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { prefix: format!("texpool {}/", NEXT.fetch_add(1, Ordering::Relaxed)), given: AtomicU64::new(0) }
    }

    /// The label of a texture or buffer that the owner makes.
    pub(super) fn label(&self, what: &str) -> String {
        self.given.fetch_add(1, Ordering::Relaxed);
        format!("{}{what}", self.prefix)
    }

    /// How many labels were given, and so how many things were made.
    pub(super) fn given(&self) -> u64 {
        self.given.load(Ordering::Relaxed)
    }

    /// Adds to `parts` what the driver has set aside for all that the owner made.
    pub(super) fn add_to(&self, report: &wgpu::AllocatorReport, parts: &mut MemoryParts) {
        for one in &report.allocations {
            if let Some(name) = one.name.strip_prefix(&self.prefix) {
                *part_mut(parts, name) += one.size;
            }
        }
    }
}

/// What a label, without its owner's prefix, says a texture or buffer is for.
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

/// Bytes that wgpu has set aside on the device for itself.
pub(super) fn of_wgpu(report: &wgpu::AllocatorReport) -> u64 {
    report.allocations.iter().filter(|one| one.name.starts_with(WGPU)).map(|one| one.size).sum()
}
