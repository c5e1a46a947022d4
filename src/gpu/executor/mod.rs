//! The executor: a compiled model on a device, ready to be run again and again.

mod bindings;
mod memory;
mod run;
#[cfg(not(target_arch = "wasm32"))]
mod stepwise;
mod warnings;

#[cfg(not(target_arch = "wasm32"))]
use std::time::Duration;
use std::{fmt, mem, sync::Arc};

#[cfg(not(target_arch = "wasm32"))]
use super::wait::now;
use super::{
    Gpu, GpuError, PipelineRecipe, SharedPipelines, SharedWeights, TensorRole,
    account::Account,
    allocations::Allocations,
    pool::{PoolSource, PoolTextures},
    ports::Port,
    resident::{Resident, ResidentOptions},
    staging::Staging,
    transfer::Transfer,
    wait::{Submitted, Wait},
    weights::WeightTextures,
};
#[cfg(not(target_arch = "wasm32"))]
use crate::{compile::compile, graph::Graph, plan::SearchControl};
use crate::{
    compile::{CompileOptions, CompiledModel},
    graph::{NotFinite, check},
    ops,
};

/// How an executor is to be made.
#[derive(Clone, Debug, Default)]
pub struct ExecutorOptions {
    /// What is asked of the plan; the texture limit is the device's, whatever stands here.
    pub compile: CompileOptions,
    /// Writes NaN over every pool texture before a run and over each tensor after its last use: what reads memory it
    /// should not shows. For tests.
    pub poison: bool,
    /// Pipelines that others made; what this one makes is added.
    pub pipelines: SharedPipelines,
    /// Weights that others of the same compiled model uploaded; what this one uploads is shared.
    pub weights: SharedWeights,
}

/// What is known of the last run.
#[derive(Debug)]
enum State {
    /// It ended well, or there was none.
    Ready,
    /// It came to no good end: what was submitted last may still be running.
    Begun(Option<Submitted>),
}

/// A compiled model on a device: textures created, pipelines compiled and weights uploaded once.
pub struct Executor {
    gpu: Gpu,
    compiled: Arc<CompiledModel>,
    options: ResidentOptions,
    weights: SharedWeights,
    pool: PoolSource,
    allocations: Arc<Allocations>,
    account: Account,
    staging: Arc<Staging>,
    /// For pieces of inputs, once there was one; none while nothing is known of it.
    transfer: Option<Transfer>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// Of each output what was not finite when it was read last.
    not_finite: Vec<NotFinite>,
    /// None while the memory is given back.
    resident: Option<Resident>,
    state: State,
}

impl Executor {
    /// Plans the model and puts it on the device.
    ///
    /// # Errors
    /// [`GpuError::Compile`] where no plan can be made, [`GpuError::Kernel`] for a step without a kernel, and what the
    /// device says.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new(gpu: &Gpu, graph: &Graph, options: &ExecutorOptions) -> Result<Self, GpuError> {
        let limits = gpu.texture_limits();
        let compiled = compile(graph, &CompileOptions { limits, ..options.compile.clone() }, &SearchControl::new())?;
        Self::from_compiled(gpu, compiled, options)
    }

    /// Puts a model on the device that was compiled within its [limits](Gpu::texture_limits). What the options say of
    /// compiling does not matter.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn from_compiled(
        gpu: &Gpu,
        compiled: impl Into<Arc<CompiledModel>>,
        options: &ExecutorOptions,
    ) -> Result<Self, GpuError> {
        now(Self::create(gpu, compiled.into(), options, None, Wait::Block))
    }

    /// The same, in a pool where one is given.
    pub(crate) async fn create(
        gpu: &Gpu,
        compiled: Arc<CompiledModel>,
        options: &ExecutorOptions,
        pool: Option<Arc<PoolTextures>>,
        wait: Wait,
    ) -> Result<Self, GpuError> {
        // Kernels rely on both: see `pipelines.rs`.
        check(&compiled.graph)?;
        ops::check(&compiled.graph)?;
        let format = compiled.format();
        let pool = match pool {
            None => PoolSource::Own,
            Some(pool) => match pool.places(&compiled.plan) {
                Some(places) => PoolSource::Shared { pool, places },
                None => return Err(GpuError::PoolTooSmall),
            },
        };
        let max_extent = gpu.texture_limits().max_extent;
        let port = |role, tensors: &[_]| {
            let of = |(i, &tensor)| {
                let port = Port::new(&compiled.graph.tensors[tensor], (role, i), format, max_extent);
                port.streamed(compiled.schedule.is_pooled(tensor))
            };
            tensors.iter().enumerate().map(of).collect()
        };
        let inputs = port(TensorRole::Input, &compiled.graph.inputs);
        let outputs: Vec<Port> = port(TensorRole::Output, &compiled.graph.outputs);
        let allocations = Arc::new(Allocations::new());
        let shared = match &pool {
            PoolSource::Own => None,
            PoolSource::Shared { pool, .. } => Some(Arc::clone(pool.allocations())),
        };
        let mut executor = Self {
            gpu: gpu.for_work(),
            options: ResidentOptions { format, poison: options.poison, pipelines: options.pipelines.clone() },
            weights: options.weights.clone(),
            pool,
            account: Account::new(Arc::clone(&allocations), shared),
            staging: Staging::new(Arc::clone(&allocations)),
            allocations,
            transfer: None,
            not_finite: vec![NotFinite::default(); outputs.len()],
            inputs,
            outputs,
            resident: None,
            state: State::Ready,
            compiled,
        };
        executor.restore(wait).await?;
        Ok(executor)
    }

    /// Gives the device's memory back, but for what the caller bound; the next run takes it again. A fork of the process
    /// has nothing to give back.
    pub(crate) fn trim(&mut self) {
        if self.gpu.is_inherited() {
            return;
        }
        self.resident = None;
        self.inputs.iter_mut().chain(&mut self.outputs).for_each(Port::trim);
        self.transfer = None;
        self.staging.trim();
    }

    /// Takes the device's memory again, where it was given back.
    pub(crate) async fn restore(&mut self, wait: Wait) -> Result<(), GpuError> {
        self.gpu.check_process()?;
        if let Some(held) = &self.resident
            && self.pool.generation() == Some(held.generation)
        {
            return Ok(());
        }
        let weights = match self.resident.take() {
            Some(held) => held.weights,
            None => self.weights.get(&self.gpu, wait, &self.compiled, &self.account).await?,
        };
        self.place(weights)?;
        // Held once the device has agreed to all of it.
        let placed = self.resident.take();
        // What tables were written through is given back before a run takes more.
        let what = "an upload of tables";
        let submitted = self.gpu.scoped(what, || self.gpu.submit([]))?;
        self.gpu.done(wait, &submitted, what).await?;
        self.gpu.settle().await?;
        if let PoolSource::Shared { pool, .. } = &self.pool {
            pool.settle().await?;
        }
        self.resident = placed;
        Ok(())
    }

    /// Takes the textures of a shared pool as they are now, where this executor is on the device.
    pub(crate) fn refresh(&mut self) -> Result<(), GpuError> {
        self.gpu.check_process()?;
        if let PoolSource::Shared { pool, .. } = &self.pool {
            pool.textures()?;
        }
        match self.resident.take_if(|held| self.pool.generation() != Some(held.generation)) {
            Some(held) => self.place(held.weights),
            None => Ok(()),
        }
    }

    /// Puts pool, tables and weights where the dispatches find them.
    fn place(&mut self, weights: Arc<WeightTextures>) -> Result<(), GpuError> {
        let ports: Vec<_> = self.inputs.iter().chain(&self.outputs).map(|port| port.layout().spec).collect();
        let Self { gpu, compiled, options, allocations, staging, pool, .. } = self;
        self.resident = Some(Resident::new(gpu, compiled, options, (allocations, staging), pool, weights, &ports)?);
        self.note();
        Ok(())
    }

    /// Whether the memory is given back.
    pub(crate) fn is_trimmed(&self) -> bool {
        self.resident.as_ref().is_none_or(|held| self.pool.generation() != Some(held.generation))
    }

    /// Waits through this executor take at most `timeout` from now on.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.gpu = self.gpu.clone().with_timeout(timeout);
        if let Some(held) = &mut self.resident {
            held.textures.set_timeout(timeout);
        }
    }

    /// The device, with the timeout of this executor's waits.
    pub(crate) const fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The model as it runs, its schedule and its plan.
    pub fn compiled(&self) -> &CompiledModel {
        &self.compiled
    }

    /// Number of dispatches of a run; 0 while the memory is given back.
    pub fn dispatches(&self) -> usize {
        self.resident.as_ref().map_or(0, |held| held.program.len())
    }

    /// The pipelines made.
    pub fn pipelines(&self) -> &[PipelineRecipe] {
        self.resident.as_ref().map_or(&[], |held| &held.recipes)
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // What a fork has of its parent's device is neither touched nor given back.
        if self.gpu.is_inherited() {
            mem::forget((self.resident.take(), self.transfer.take(), Arc::clone(&self.staging)));
            mem::forget((mem::take(&mut self.inputs), mem::take(&mut self.outputs)));
        }
    }
}

/// By name: all that it holds is a file's worth of text.
impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor")
            .field("model", &self.compiled.graph.name)
            .field("dispatches", &self.dispatches())
            .finish_non_exhaustive()
    }
}
