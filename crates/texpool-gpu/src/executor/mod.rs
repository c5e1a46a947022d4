//! The executor: a compiled model on a device, ready for repeated runs.

mod bindings;
mod carried;
mod extents;
#[cfg(not(target_arch = "wasm32"))]
mod in_buffers;
mod memory;
mod run;
#[cfg(not(target_arch = "wasm32"))]
mod stepwise;
mod warnings;

#[cfg(not(target_arch = "wasm32"))]
use std::time::Duration;
use std::{fmt, mem, sync::Arc};

#[cfg(not(target_arch = "wasm32"))]
pub use in_buffers::{InBuffers, MemoryComparison};

#[cfg(not(target_arch = "wasm32"))]
use super::wait::now;
use super::{
    Gpu, GpuError, PipelineRecipe, SharedPipelines, SharedWeights, TensorRole,
    account::Account,
    allocations::Allocations,
    carry::Carry,
    pool::{PoolSource, PoolTextures},
    ports::Port,
    resident::{Resident, ResidentOptions},
    staging::Staging,
    transfer::Transfer,
    wait::{Submitted, Wait},
    weights::WeightTextures,
};
#[cfg(not(target_arch = "wasm32"))]
use texpool_compile::compile;
use texpool_compile::{CompileOptions, CompiledModel};
#[cfg(not(target_arch = "wasm32"))]
use texpool_ops::graph::Graph;
use texpool_ops::{
    graph::{NotFinite, check},
    ops::{self, Needed},
};
#[cfg(not(target_arch = "wasm32"))]
use texpool_plan::SearchControl;

/// Options for creating an executor.
#[derive(Clone, Debug, Default)]
pub struct ExecutorOptions {
    /// Options for the plan. The texture limit is always the device's, whatever is set here, and the device's blocks
    /// are used unless others are chosen.
    pub compile: CompileOptions,
    /// Writes NaN over every pool texture before a run and over each tensor after its last use, so that a read of
    /// invalid memory shows in the result. For tests.
    pub poison: bool,
    /// Cache of pipelines to use and extend.
    pub pipelines: SharedPipelines,
    /// Weights shared among executors of the same compiled model. The first one uploads them.
    pub weights: SharedWeights,
}

/// State of the last run.
#[derive(Debug)]
enum State {
    /// The last run succeeded, or no run has started.
    Ready,
    /// The last run did not finish, so its last submission may still be running.
    Begun(Option<Submitted>),
}

/// A compiled model on a device: textures are created, pipelines compiled and weights uploaded once.
pub struct Executor {
    gpu: Gpu,
    compiled: Arc<CompiledModel>,
    options: ResidentOptions,
    weights: SharedWeights,
    pool: PoolSource,
    allocations: Arc<Allocations>,
    account: Account,
    staging: Arc<Staging>,
    /// Transfer buffer for inputs in pieces, once created. `None` also if its state is unknown.
    transfer: Option<Transfer>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// Outputs whose values become those of inputs at the next run.
    carries: Vec<Carry>,
    /// Non-finite values of each output when it was last read.
    not_finite: Vec<NotFinite>,
    /// `None` while the memory is given back.
    resident: Option<Resident>,
    /// True if the model was run since its memory was last allocated.
    has_run: bool,
    /// Extents of the next run, by the index of the input that holds each.
    extents: Vec<Option<f32>>,
    /// Places that runs with these extents need, and the extents. `None` if the program computes all places.
    needed: Option<(Vec<Option<f32>>, Needed)>,
    state: State,
}

impl Executor {
    /// Plans the model and loads it onto the device.
    ///
    /// # Errors
    /// [`GpuError::Compile`] if no plan exists, [`GpuError::Kernel`] for a step without a kernel, and errors of the
    /// device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new(gpu: &Gpu, graph: &Graph, options: &ExecutorOptions) -> Result<Self, GpuError> {
        let compile_options = gpu.options(options.compile.clone());
        let compiled = compile(graph, &compile_options, &SearchControl::new())?;
        Self::from_compiled(gpu, compiled, options)
    }

    /// Loads a compiled model onto the device; it must have been compiled within the device's
    /// [limits](Gpu::texture_limits). Ignores the compile options in `options`.
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

    /// Async version of `from_compiled`, optionally in a shared pool.
    pub async fn create(
        gpu: &Gpu,
        compiled: Arc<CompiledModel>,
        options: &ExecutorOptions,
        pool: Option<Arc<PoolTextures>>,
        wait: Wait,
    ) -> Result<Self, GpuError> {
        // Kernels rely on both checks: see `pipelines.rs`.
        check(compiled.graph())?;
        ops::check(compiled.graph())?;
        let format = compiled.format();
        let pool = match pool {
            None => PoolSource::Own,
            Some(pool) => match pool.places(compiled.plan()) {
                Some(places) => PoolSource::Shared { pool, places },
                None => return Err(GpuError::PoolTooSmall),
            },
        };
        let max_extent = gpu.texture_limits().max_extent;
        let port = |role, tensors: &[_]| {
            let of = |(i, &tensor)| {
                let port = Port::new(&compiled.graph().tensors[tensor], (role, i), format, max_extent);
                port.streamed(compiled.schedule().is_pooled(tensor))
            };
            tensors.iter().enumerate().map(of).collect()
        };
        let inputs = port(TensorRole::Input, &compiled.graph().inputs);
        let outputs: Vec<Port> = port(TensorRole::Output, &compiled.graph().outputs);
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
            carries: Vec::new(),
            resident: None,
            has_run: false,
            extents: vec![None; compiled.graph().inputs.len()],
            needed: None,
            state: State::Ready,
            compiled,
        };
        executor.carry_variables()?;
        executor.restore(wait).await?;
        Ok(executor)
    }

    /// Releases the device memory, except textures that the caller bound and carried values; the next run allocates
    /// it again. Does nothing in a forked process.
    pub fn trim(&mut self) {
        if self.gpu.is_inherited() {
            return;
        }
        (self.resident, self.has_run) = (None, false);
        for input in 0..self.inputs.len() {
            let holds_carried = self.holds_carried(input);
            if let Some(port) = self.inputs.get_mut(input) {
                if holds_carried { port.reset() } else { port.trim() }
            }
        }
        self.outputs.iter_mut().for_each(Port::trim);
        self.carries.iter_mut().for_each(Carry::trim);
        self.transfer = None;
        self.staging.trim();
    }

    /// Allocates the device memory again if it was given back.
    pub async fn restore(&mut self, wait: Wait) -> Result<(), GpuError> {
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
        // Stored in `self.resident` again only after the device has confirmed all of it.
        let placed = self.resident.take();
        // Waits for the upload of the tables, so that its staging memory is released before a run allocates more.
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

    /// Switches to the current textures of a shared pool, if this executor is loaded on the device.
    pub fn refresh(&mut self) -> Result<(), GpuError> {
        self.gpu.check_process()?;
        if let PoolSource::Shared { pool, .. } = &self.pool {
            pool.textures()?;
        }
        match self.resident.take_if(|held| self.pool.generation() != Some(held.generation)) {
            Some(held) => self.place(held.weights),
            None => Ok(()),
        }
    }

    /// Creates the resident state: pool, tables and weights for the dispatches.
    fn place(&mut self, weights: Arc<WeightTextures>) -> Result<(), GpuError> {
        let ports: Vec<_> = self.inputs.iter().chain(&self.outputs).map(|port| port.layout().spec).collect();
        let Self { gpu, compiled, options, allocations, staging, pool, .. } = self;
        self.resident = Some(Resident::new(gpu, compiled, options, (allocations, staging), pool, weights, &ports)?);
        self.needed = None;
        self.note();
        Ok(())
    }

    /// Returns whether the memory is given back.
    pub fn is_trimmed(&self) -> bool {
        self.resident.as_ref().is_none_or(|held| self.pool.generation() != Some(held.generation))
    }

    /// Sets the timeout of all later waits through this executor.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.gpu = self.gpu.clone().with_timeout(timeout);
        if let Some(held) = &mut self.resident {
            held.textures.set_timeout(timeout);
        }
    }

    /// Returns the device handle, which carries this executor's timeout.
    pub const fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Returns the model as it runs, with its schedule and plan.
    pub fn compiled(&self) -> &CompiledModel {
        &self.compiled
    }

    /// Returns the number of dispatches in a run; 0 while the memory is given back.
    pub fn dispatches(&self) -> usize {
        self.resident.as_ref().map_or(0, |held| held.program.len())
    }

    /// Returns descriptions of the pipelines in use.
    pub fn pipelines(&self) -> &[PipelineRecipe] {
        self.resident.as_ref().map_or(&[], |held| &held.recipes)
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // A forked process must neither touch nor release the handles of its parent's device, so they are leaked.
        if self.gpu.is_inherited() {
            mem::forget((self.resident.take(), self.transfer.take(), Arc::clone(&self.staging)));
            mem::forget((mem::take(&mut self.inputs), mem::take(&mut self.outputs)));
        }
    }
}

/// Shows the name only, because the full contents are as long as the model file.
impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor")
            .field("model", &self.compiled.graph().name)
            .field("dispatches", &self.dispatches())
            .finish_non_exhaustive()
    }
}
