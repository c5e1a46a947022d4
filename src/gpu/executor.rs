//! The executor: a compiled model on a device, ready to be run again and again.

#[cfg(not(target_arch = "wasm32"))]
use std::time::Duration;
use std::{fmt, sync::Arc};

#[cfg(not(target_arch = "wasm32"))]
use super::wait::now;
use super::{
    Gpu, GpuError, Memory, PipelineRecipe, SharedPipelines, SharedWeights, TensorRole, TextureProblem,
    allocations::Allocations,
    pool::{POOL, PoolSource, PoolTextures},
    ports::Port,
    resident::{Resident, ResidentOptions},
    staging::{Readback, Staging},
    wait::{Submitted, Wait},
    weights::WeightTextures,
};
#[cfg(not(target_arch = "wasm32"))]
use crate::{compile::compile, graph::Graph, plan::SearchControl};
use crate::{
    compile::{CompileOptions, CompiledModel},
    graph::check,
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
    /// Makes pool textures that can be read back, for [`Executor::run_stepwise`].
    pub readback: bool,
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
    pub(super) gpu: Gpu,
    pub(super) compiled: Arc<CompiledModel>,
    options: ResidentOptions,
    weights: SharedWeights,
    pool: PoolSource,
    allocations: Arc<Allocations>,
    staging: Arc<Staging>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// None while the memory is given back.
    pub(super) resident: Option<Resident>,
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
            let of = |(i, &tensor)| Port::new(&compiled.graph.tensors[tensor], (role, i), format, max_extent);
            tensors.iter().enumerate().map(of).collect()
        };
        let inputs = port(TensorRole::Input, &compiled.graph.inputs);
        let outputs = port(TensorRole::Output, &compiled.graph.outputs);
        let allocations = Arc::new(Allocations::new());
        let mut executor = Self {
            gpu: gpu.for_work(),
            options: ResidentOptions {
                format,
                poison: options.poison,
                readback: options.readback,
                pipelines: options.pipelines.clone(),
            },
            weights: options.weights.clone(),
            pool,
            staging: Staging::new(Arc::clone(&allocations)),
            allocations,
            inputs,
            outputs,
            resident: None,
            state: State::Ready,
            compiled,
        };
        executor.restore(wait).await?;
        Ok(executor)
    }

    /// Runs the model on dense values in the file's order, one slice a graph input; answers one vector a graph output.
    /// Inputs and outputs in textures of the caller's do not count.
    ///
    /// A run that fails leaves nothing behind: the next one is right, or fails by a typed error, too. After a
    /// [`GpuError::Timeout`] it first waits, as long again, for what is still on the device.
    ///
    /// # Errors
    /// [`GpuError::TensorCount`] and [`GpuError::TensorLength`] for a wrong number of inputs or values,
    /// [`GpuError::Timeout`], [`GpuError::Lost`], and what the device says.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run(&mut self, inputs: &[&[f32]]) -> Result<Vec<Vec<f32>>, GpuError> {
        let by_value = self.outputs.iter().filter(|port| !port.is_bound());
        let mut outputs: Vec<_> = by_value.map(|port| vec![0.0; port.layout().shape.len()]).collect();
        self.run_into(inputs, &mut outputs)?;
        Ok(outputs)
    }

    /// The same into vectors of the caller's, which must have the outputs' lengths. Where it fails they hold anything.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run_into(&mut self, inputs: &[&[f32]], outputs: &mut [Vec<f32>]) -> Result<(), GpuError> {
        let numbers = by_value(TensorRole::Output, &self.outputs, outputs.len())?;
        let inputs: Vec<_> =
            self.inputs_by_value(inputs.len())?.into_iter().zip(inputs).map(|(i, &v)| (i, v)).collect();
        let mut outputs: Vec<_> = numbers.into_iter().zip(outputs).map(|(i, v)| (i, &mut v[..])).collect();
        now(self.run_values(Wait::Block, &inputs, &mut outputs))
    }

    /// Runs the model on some inputs' values, and what lies in the textures of the others; answers some outputs' values.
    pub(crate) async fn run_values(
        &mut self,
        wait: Wait,
        inputs: &[(usize, &[f32])],
        outputs: &mut [(usize, &mut [f32])],
    ) -> Result<(), GpuError> {
        self.submit_and_finish(wait, "a run of the model", inputs, true, outputs).await
    }

    /// Reads outputs as they are.
    pub(crate) async fn read_values(
        &mut self,
        wait: Wait,
        outputs: &mut [(usize, &mut [f32])],
    ) -> Result<(), GpuError> {
        self.submit_and_finish(wait, "reading outputs", &[], false, outputs).await
    }

    /// Submits a run on what lies in the inputs' textures.
    pub(crate) fn submit(&mut self) -> Result<Submitted, GpuError> {
        self.submit_run("a run of the model", &[], true, [].into_iter(), &mut Vec::new())
    }

    /// Writes inputs, runs the model if that is wanted, reads outputs, and waits until all that is done.
    pub(super) async fn submit_and_finish(
        &mut self,
        wait: Wait,
        what: &str,
        inputs: &[(usize, &[f32])],
        run: bool,
        outputs: &mut [(usize, &mut [f32])],
    ) -> Result<(), GpuError> {
        check_lengths(&self.inputs, inputs.iter().map(|(i, values)| (*i, values.len())))?;
        check_lengths(&self.outputs, outputs.iter().map(|(i, values)| (*i, values.len())))?;
        self.settle(wait).await?;
        self.restore(wait).await?;
        self.state = State::Begun(None);
        let mut readbacks = Vec::with_capacity(outputs.len());
        let submitted = self.submit_run(what, inputs, run, outputs.iter().map(|(i, _)| *i), &mut readbacks)?;
        self.state = State::Begun(Some(submitted.clone()));
        self.gpu.done(wait, &submitted, what).await?;
        for (i, _) in inputs {
            if let Some(upload) = self.inputs.get_mut(*i).and_then(Port::upload) {
                upload.finish(&self.gpu, wait, &submitted, what).await?;
            }
        }
        for (readback, (_, values)) in readbacks.into_iter().zip(outputs) {
            readback.finish(&self.gpu, wait, Some(&submitted), what, values).await?;
        }
        self.state = State::Ready;
        Ok(())
    }

    fn submit_run(
        &mut self,
        what: &str,
        inputs: &[(usize, &[f32])],
        run: bool,
        outputs: impl Iterator<Item = usize>,
        readbacks: &mut Vec<Readback>,
    ) -> Result<Submitted, GpuError> {
        for &(i, values) in inputs {
            if let Some(port) = self.inputs.get_mut(i) {
                port.write(&self.gpu, &self.staging, values)?;
            }
        }
        self.bind()?;
        let mut read = Vec::new();
        for port in outputs.filter_map(|i| self.outputs.get(i)) {
            read.push((port, port.readback(&self.gpu, &self.staging)?));
        }
        let Self { gpu, inputs: ports, resident, .. } = self;
        let index = gpu.scoped(what, || {
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("run") });
            for (i, _) in inputs {
                if let Some(port) = ports.get_mut(*i) {
                    port.encode_upload(&mut encoder);
                }
            }
            if let (true, Some(resident)) = (run, resident) {
                resident.program.encode(&mut encoder, None);
            }
            for (port, readback) in &mut read {
                if let Some(texture) = port.texture() {
                    readback.encode(texture, &mut encoder);
                }
            }
            gpu.queue.submit([encoder.finish()])
        })?;
        readbacks.extend(read.into_iter().map(|(_, readback)| readback));
        for (i, _) in inputs {
            if let Some(port) = self.inputs.get_mut(*i) {
                port.set_filled();
            }
        }
        Ok(Submitted { index })
    }

    /// Waits for what a run has left on the device that came to no good end.
    pub(super) async fn settle(&mut self, wait: Wait) -> Result<(), GpuError> {
        self.gpu.check_lost()?;
        if let State::Begun(submitted) = &self.state {
            if let Some(submitted) = submitted {
                self.gpu.done(wait, submitted, "an earlier run that was given up").await?;
            }
            // Nobody knows in which state their buffers are.
            self.inputs.iter_mut().for_each(Port::reset);
            self.state = State::Ready;
        }
        Ok(())
    }

    /// The numbers of the inputs that go by value, of which so many were given.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn inputs_by_value(&self, found: usize) -> Result<Vec<usize>, GpuError> {
        by_value(TensorRole::Input, &self.inputs, found)
    }

    /// Notes what was submitted, until [`ended`](Self::ended).
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn begun(&mut self, submitted: Option<Submitted>) {
        self.state = State::Begun(submitted);
    }

    /// Notes that it ended well.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn ended(&mut self) {
        self.state = State::Ready;
    }

    /// Puts the textures that inputs and outputs lie in where the dispatches look for them.
    pub(super) fn bind(&mut self) -> Result<(), GpuError> {
        self.gpu.check_lost()?;
        let Some(resident) = self.resident.as_mut().filter(|held| self.pool.generation() == Some(held.generation))
        else {
            return Err(GpuError::Trimmed);
        };
        for (i, port) in self.inputs.iter_mut().chain(&mut self.outputs).enumerate() {
            resident.textures.replace(resident.first_port + i, port.ensure(&self.gpu, &self.allocations)?);
        }
        resident.program.bind(&self.gpu, &resident.textures)
    }

    /// Encodes a run into a command encoder of the caller's: inputs are what lies in their textures.
    ///
    /// # Errors
    /// [`GpuError::Trimmed`] while the memory is given back, and what the device says of textures that are new.
    pub fn encode(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), GpuError> {
        self.bind()?;
        if let Some(resident) = &self.resident {
            resident.program.encode(encoder, None);
        }
        Ok(())
    }

    /// Encodes copies of outputs, as they will be then.
    pub(crate) fn encode_readbacks(
        &mut self,
        outputs: &[usize],
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<Vec<Readback>, GpuError> {
        self.bind()?;
        let ports = outputs.iter().filter_map(|&i| self.outputs.get(i));
        ports.map(|port| port.encode_readback(&self.gpu, &self.staging, encoder)).collect()
    }

    /// Writes an input by a submission of its own, without waiting for it.
    pub(crate) fn write(&mut self, input: usize, values: &[f32]) -> Result<(), GpuError> {
        check_lengths(&self.inputs, [(input, values.len())].into_iter())?;
        self.gpu.check_lost()?;
        let Self { gpu, staging, allocations, inputs, .. } = self;
        let Some(port) = inputs.get_mut(input) else { return Ok(()) };
        port.ensure(gpu, allocations)?;
        port.write(gpu, staging, values)?;
        gpu.scoped("writing an input", || {
            let mut encoder =
                gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("write") });
            port.encode_upload(&mut encoder);
            gpu.queue.submit([encoder.finish()])
        })?;
        port.set_filled();
        Ok(())
    }

    /// An input or output lies in a texture of the caller's from now on.
    ///
    /// # Errors
    /// [`GpuError::NoSuchTensor`] for one past the last, [`GpuError::ExternalTexture`] where the texture is not as
    /// [`io_texture`](super::io_texture) says, or another tensor lies in it and one of the two is written.
    pub fn bind_texture(&mut self, role: TensorRole, index: usize, texture: &wgpu::Texture) -> Result<(), GpuError> {
        let count = self.ports(role).len();
        // No dispatch may read and write one texture, nor may two outputs be written over each other.
        let others = self.outputs.iter().enumerate().map(|(i, port)| (TensorRole::Output, i, port));
        let inputs = self.inputs.iter().enumerate().map(|(i, port)| (TensorRole::Input, i, port));
        let others = others.chain(inputs.filter(|_| role == TensorRole::Output));
        let mut others = others.filter(|&(of, i, _)| (of, i) != (role, index));
        let other = others.find(|(.., port)| port.texture() == Some(texture));
        let other = other.map(|(role, index, _)| TextureProblem::InUse { role, index });
        let ports = match role {
            TensorRole::Input => &mut self.inputs,
            TensorRole::Output => &mut self.outputs,
        };
        let Some(port) = ports.get_mut(index) else {
            return Err(GpuError::NoSuchTensor { role, index, count });
        };
        let own = port.is_own();
        match other {
            Some(problem) => return Err(port.refuse(problem)),
            None => port.bind(texture)?,
        }
        if own {
            self.release(role, index);
        }
        Ok(())
    }

    /// An input or output lies in a texture of the executor's own again.
    pub(crate) fn unbind_texture(&mut self, role: TensorRole, index: usize) {
        let ports = match role {
            TensorRole::Input => &mut self.inputs,
            TensorRole::Output => &mut self.outputs,
        };
        if let Some(port) = ports.get_mut(index).filter(|port| port.is_bound()) {
            port.unbind();
            self.release(role, index);
        }
    }

    /// Keeps no texture alive in which the input or output has lain.
    fn release(&mut self, role: TensorRole, index: usize) {
        let before = match role {
            TensorRole::Input => 0,
            TensorRole::Output => self.inputs.len(),
        };
        if let Some(resident) = &mut self.resident {
            resident.release(before + index);
        }
    }

    /// The texture that an input or output lies in, made if there is none. That of an input counts as written from then
    /// on: the caller will.
    pub(crate) fn texture(&mut self, role: TensorRole, index: usize) -> Result<wgpu::Texture, GpuError> {
        let count = self.ports(role).len();
        let ports = match role {
            TensorRole::Input => &mut self.inputs,
            TensorRole::Output => &mut self.outputs,
        };
        let Some(port) = ports.get_mut(index) else {
            return Err(GpuError::NoSuchTensor { role, index, count });
        };
        port.set_filled();
        port.ensure(&self.gpu, &self.allocations).cloned()
    }

    pub(crate) fn is_bound(&self, role: TensorRole, index: usize) -> bool {
        self.ports(role).get(index).is_some_and(Port::is_bound)
    }

    /// Whether an output can be copied to the host.
    pub(crate) fn can_be_read(&self, output: usize) -> bool {
        let texture = self.outputs.get(output).and_then(Port::texture);
        texture.is_none_or(|texture| texture.usage().contains(wgpu::TextureUsages::COPY_SRC))
    }

    /// Whether an input has values, by whatever way.
    pub(crate) fn is_filled(&self, input: usize) -> bool {
        self.inputs.get(input).is_some_and(Port::is_filled)
    }

    fn ports(&self, role: TensorRole) -> &[Port] {
        match role {
            TensorRole::Input => &self.inputs,
            TensorRole::Output => &self.outputs,
        }
    }

    /// Gives the device's memory back, but for what the caller bound; the next run takes it again.
    pub(crate) fn trim(&mut self) {
        self.resident = None;
        self.inputs.iter_mut().chain(&mut self.outputs).for_each(Port::trim);
        self.staging.trim();
    }

    /// Takes the device's memory again, where it was given back.
    pub(crate) async fn restore(&mut self, wait: Wait) -> Result<(), GpuError> {
        if let Some(held) = &self.resident
            && self.pool.generation() == Some(held.generation)
        {
            return Ok(());
        }
        let weights = match self.resident.take() {
            Some(held) => held.weights,
            None => self.weights.get(&self.gpu, wait, &self.compiled.graph, self.options.format).await?,
        };
        self.place(weights)?;
        // Held once the device has agreed to all of it.
        let placed = self.resident.take();
        self.gpu.settle().await?;
        if let PoolSource::Shared { pool, .. } = &self.pool {
            pool.settle().await?;
        }
        self.resident = placed;
        Ok(())
    }

    /// Takes the textures of a shared pool as they are now, where this executor is on the device.
    pub(crate) fn refresh(&mut self) -> Result<(), GpuError> {
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
        let Self { gpu, compiled, options, allocations, pool, .. } = self;
        self.resident = Some(Resident::new(gpu, compiled, options, allocations, pool, weights, &ports)?);
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

    /// What is taken of the device's memory now. Asks the driver, which looks through all that the device holds.
    pub fn memory(&self) -> Memory {
        let io_planned = self.inputs.iter().chain(&self.outputs).map(Port::bytes).sum();
        let is_any = self.resident.is_some() || io_planned + self.staging.bytes() > 0;
        let own = self.allocations.bytes(&self.gpu, POOL, is_any);
        let mut memory = Memory { io_planned, staging: self.staging.bytes(), ..Memory::default() };
        let mut driver = own.map(|[all, _]| all);
        let mut pool_driver = own.map(|[_, pool]| pool);
        if let Some(held) = &self.resident {
            (memory.weights, memory.tables) = (held.weights.bytes(), held.program.table_bytes());
            let weights = held.weights.allocations().bytes(&self.gpu, "", memory.weights > 0);
            let weights = weights.map_or(0, |[all, _]| all);
            driver = driver.map(|own| own + weights);
            memory.shared = if Arc::strong_count(&held.weights) > 1 { memory.weights } else { 0 };
            memory.pool_planned = self.compiled.plan.bytes();
        }
        if let PoolSource::Shared { pool, .. } = &self.pool {
            // It is there whether or not this session has anything on the device.
            memory.pool_planned = pool.bytes();
            memory.shared += memory.pool_planned;
            pool_driver = pool.driver_bytes();
            driver = driver.zip(pool_driver).map(|(own, pool)| own + pool);
        }
        Memory { pool_driver, driver, ..memory }
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

/// The numbers of those that go by value, of which so many were given.
#[cfg(not(target_arch = "wasm32"))]
fn by_value(role: TensorRole, ports: &[Port], found: usize) -> Result<Vec<usize>, GpuError> {
    let numbers: Vec<usize> = (0..ports.len()).filter(|&i| !ports[i].is_bound()).collect();
    if numbers.len() == found {
        return Ok(numbers);
    }
    let (in_textures, by_value): (Vec<&Port>, Vec<&Port>) = ports.iter().partition(|port| port.is_bound());
    let names = |ports: Vec<&Port>| ports.into_iter().map(|port| port.name().to_owned()).collect();
    Err(GpuError::TensorCount { role, by_value: names(by_value), in_textures: names(in_textures), found })
}

fn check_lengths(ports: &[Port], mut given: impl Iterator<Item = (usize, usize)>) -> Result<(), GpuError> {
    given.try_for_each(|(i, found)| ports.get(i).map_or(Ok(()), |port| port.check_len(found)))
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
