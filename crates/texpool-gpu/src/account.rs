//! Memory account of a session: current and peak allocations, as reported by the driver.

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    Gpu, MemoryParts, MemoryPeak,
    allocations::{Allocations, of_wgpu},
};

/// Memory account of a session, covering its own allocations and the pool that it shares.
#[derive(Debug)]
pub(super) struct Account {
    own: Arc<Allocations>,
    pool: Option<Arc<Allocations>>,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    /// Number of allocations at the last query of the driver.
    made: u64,
    /// `None` until a labelled allocation shows up in a report.
    peak: Option<MemoryPeak>,
}

/// One report of the driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Allocations with our labels, without wgpu's internal ones.
    pub(super) labelled: MemoryParts,
    pub(super) of_wgpu: u64,
    pub(super) reserved: u64,
    pub(super) peak: Option<MemoryPeak>,
}

impl Account {
    pub(super) fn new(own: Arc<Allocations>, pool: Option<Arc<Allocations>>) -> Self {
        Self { own, pool, noted: Mutex::default() }
    }

    /// Queries the driver if anything was allocated since the last query, since only then a new peak is possible.
    /// `weights` are the weights that the session uses, or that are being loaded for it.
    pub(super) fn note(&self, gpu: &Gpu, weights: Option<&Allocations>) {
        if self.noted.lock().unwrap_or_else(PoisonError::into_inner).made != self.made(weights) {
            self.sample(gpu, weights);
        }
    }

    /// Queries the driver; `None` if it does not report allocations.
    pub(super) fn sample(&self, gpu: &Gpu, weights: Option<&Allocations>) -> Option<Sample> {
        let made = self.made(weights);
        let report = gpu.device.generate_allocator_report()?;
        let mut labelled = MemoryParts::default();
        for owner in self.owners(weights) {
            owner.add_to(&report, &mut labelled);
        }
        let (of_wgpu, reserved) = (of_wgpu(&report), report.total_reserved_bytes);
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.made = made;
        if labelled.sum() > 0 || noted.peak.is_some() {
            let last = noted.peak.unwrap_or_default();
            let allocated = last.allocated.max(labelled.sum() + of_wgpu);
            noted.peak = Some(MemoryPeak { allocated, reserved: last.reserved.max(reserved) });
        }
        Some(Sample { labelled, of_wgpu, reserved, peak: noted.peak })
    }

    fn owners<'a>(&'a self, weights: Option<&'a Allocations>) -> impl Iterator<Item = &'a Allocations> {
        [Some(&*self.own), self.pool.as_deref(), weights].into_iter().flatten()
    }

    fn made(&self, weights: Option<&Allocations>) -> u64 {
        self.owners(weights).map(Allocations::given).sum()
    }
}
