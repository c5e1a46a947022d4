//! What the driver has set aside for one owner, on a device that others use, too: found by the labels of what it made.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Gpu;

/// Labels that no other owner in the process gives.
#[derive(Debug)]
pub(super) struct Allocations {
    prefix: String,
}

impl Allocations {
    /// Labels of a new owner.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { prefix: format!("texpool {}/", NEXT.fetch_add(1, Ordering::Relaxed)) }
    }

    /// The label of a texture or buffer that the owner makes.
    pub(super) fn label(&self, what: &str) -> String {
        format!("{}{what}", self.prefix)
    }

    /// Bytes that the driver has set aside for all that the owner made, and for what it called something that begins with
    /// `what`; `None` where the driver does not say, or labels do not reach it
    /// (`wgpu::InstanceFlags::DISCARD_HAL_LABELS`): there `is_any`thing of the owner's, and none is found.
    pub(super) fn bytes(&self, gpu: &Gpu, what: &str, is_any: bool) -> Option<[u64; 2]> {
        let report = gpu.device.generate_allocator_report()?;
        let named = report.allocations.iter().map(|one| (one.name.strip_prefix(&self.prefix), one.size));
        let own: Vec<(&str, u64)> = named.filter_map(|(name, size)| Some((name?, size))).collect();
        let sum = |what: &str| own.iter().filter(|(name, _)| name.starts_with(what)).map(|(_, size)| size).sum();
        (!own.is_empty() || !is_any).then(|| [sum(""), sum(what)])
    }
}
