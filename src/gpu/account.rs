//! The account of a session's memory: what the driver has set aside for it, now and at most.

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    Gpu, MemoryParts, MemoryPeak,
    allocations::{Allocations, of_wgpu},
};

/// What a session makes, by itself and in a pool that it shares.
#[derive(Debug)]
pub(super) struct Account {
    own: Arc<Allocations>,
    pool: Option<Arc<Allocations>>,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    /// How many things were made when the driver was asked last.
    made: u64,
    /// None until something is found by its label.
    peak: Option<MemoryPeak>,
}

/// The driver's word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// What is found by its label; what wgpu made for itself is no part of it.
    pub(super) labelled: MemoryParts,
    pub(super) of_wgpu: u64,
    pub(super) reserved: u64,
    pub(super) peak: Option<MemoryPeak>,
}

impl Account {
    pub(super) fn new(own: Arc<Allocations>, pool: Option<Arc<Allocations>>) -> Self {
        Self { own, pool, noted: Mutex::default() }
    }

    /// Asks the driver, if anything was made since it was asked last: only then there may be more than ever. The weights
    /// are those that the session uses, or that are being loaded for it.
    pub(super) fn note(&self, gpu: &Gpu, weights: Option<&Allocations>) {
        if self.noted.lock().unwrap_or_else(PoisonError::into_inner).made != self.made(weights) {
            self.sample(gpu, weights);
        }
    }

    /// Asks the driver; none where it does not say.
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
