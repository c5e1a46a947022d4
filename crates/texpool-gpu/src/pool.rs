//! Pool textures, which the sessions of several models can share by running one at a time.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    Gpu, GpuError, MemoryParts, Role,
    allocations::{Allocations, POOL},
    textures::make,
};
use texpool_plan::{
    Plan, TextureSpec,
    internal::{overlay_textures, texture_ranks},
};

/// Textures for several plans, only one of which runs at a time.
#[derive(Debug)]
pub struct PoolTextures {
    gpu: Gpu,
    allocations: Arc<Allocations>,
    specs: Vec<TextureSpec>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// `None` while the pool is trimmed.
    textures: Option<Vec<wgpu::Texture>>,
    /// Number of times the textures were created.
    generation: u64,
}

impl PoolTextures {
    /// Creates textures that are large enough for each of these plans. The plans must use the same texel format.
    pub fn new<'a>(gpu: &Gpu, plans: impl IntoIterator<Item = &'a Plan>) -> Result<Arc<Self>, GpuError> {
        let specs = overlay_textures(plans);
        let pool =
            Self { gpu: gpu.for_work(), allocations: Arc::new(Allocations::new()), specs, state: Mutex::default() };
        pool.textures()?;
        Ok(Arc::new(pool))
    }

    /// Maps each texture of a plan to a texture of the pool. `None` if the pool is too small.
    pub(super) fn places(&self, plan: &Plan) -> Option<Vec<usize>> {
        let ranks = texture_ranks(plan);
        let has_room = |(spec, &rank): (&TextureSpec, &usize)| {
            self.specs.get(rank).is_some_and(|held| held.texels() >= spec.texels() && held.format == spec.format)
        };
        plan.textures.iter().zip(&ranks).all(has_room).then_some(ranks)
    }

    /// Returns the textures, creating them if needed, and their generation.
    pub(super) fn textures(&self) -> Result<(u64, Vec<(TextureSpec, wgpu::Texture)>), GpuError> {
        self.gpu.check_process()?;
        let mut state = self.state();
        let textures = match state.textures.take() {
            Some(textures) => textures,
            None => {
                let of = |(rank, &spec): (usize, &TextureSpec)| {
                    make(&self.gpu, &self.allocations, &format!("{POOL} {rank}"), spec, Role::Pool)
                };
                let made = self.specs.iter().enumerate().map(of).collect::<Result<Vec<_>, _>>()?;
                state.generation += 1;
                made
            }
        };
        let described = self.specs.iter().copied().zip(textures.iter().cloned()).collect();
        state.textures = Some(textures);
        Ok((state.generation, described))
    }

    /// Waits until the device has reported all errors about the textures.
    pub(super) async fn settle(&self) -> Result<(), GpuError> {
        self.gpu.settle().await
    }

    /// Returns how often the textures have been created; `None` while they do not exist.
    pub(super) fn generation(&self) -> Option<u64> {
        let state = self.state();
        state.textures.as_ref().map(|_| state.generation)
    }

    /// Destroys the textures to release their memory, although sessions still hold handles to them.
    pub fn trim(&self) {
        if self.gpu.is_inherited() {
            return;
        }
        if let Some(textures) = self.state().textures.take() {
            textures.iter().for_each(wgpu::Texture::destroy);
        }
    }

    /// Returns the planned size in bytes, or 0 while trimmed.
    pub fn bytes(&self) -> u64 {
        if self.generation().is_some() { self.specs.iter().map(TextureSpec::bytes).sum() } else { 0 }
    }

    /// Returns the size that the driver reports, in bytes; `None` if it reports nothing or does not see labels.
    pub fn driver_bytes(&self) -> Option<u64> {
        self.gpu.check_process().ok()?;
        let mut parts = MemoryParts::default();
        self.allocations.add_to(&self.gpu.device.generate_allocator_report()?, &mut parts);
        (parts.pool > 0 || self.bytes() == 0).then_some(parts.pool)
    }

    /// Returns the labels and the allocation count of these textures.
    pub(super) fn allocations(&self) -> &Arc<Allocations> {
        &self.allocations
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PoolTextures {
    fn drop(&mut self) {
        // A forked process must not touch the handles of its parent's device, so they are leaked.
        if self.gpu.is_inherited() {
            mem::forget(self.state.get_mut().unwrap_or_else(PoisonError::into_inner).textures.take());
        }
    }
}

/// Pool of one session: its own textures, or places in a shared pool.
#[derive(Clone, Debug)]
pub(super) enum PoolSource {
    Own,
    Shared { pool: Arc<PoolTextures>, places: Vec<usize> },
}

impl PoolSource {
    /// Returns how often the textures have been created; `None` while they are trimmed.
    pub(super) fn generation(&self) -> Option<u64> {
        match self {
            Self::Own => Some(0),
            Self::Shared { pool, .. } => pool.generation(),
        }
    }
}
