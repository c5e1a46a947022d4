//! A session: a model on a device, ready to be run again and again.

use std::time::{Duration, Instant};

use super::{
    ExternalTextures, Gpu, GpuError, Memory, PipelineRecipe, Pipelines, Program, Role, SharedPipelines, TensorRole,
    TextureSet,
    lower::PlacedModel,
    profile::{DispatchTime, TimestampQueries},
    transfer::Transfers,
    weights,
};
use crate::{
    compile::{CompileOptions, CompiledModel, compile},
    graph::{Graph, Shape, check},
    kernels::Operand,
    ops,
    plan::{SearchControl, TexelFormat, TextureSpec},
    schedule::StorageKind,
};

/// How a session is to be made.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// What is asked of the plan; the texture limit is the device's, whatever stands here.
    pub compile: CompileOptions,
    /// Writes NaN over every pool texture before a run and over each tensor after its last use: what reads memory it
    /// should not shows. For tests.
    pub poison: bool,
    /// Makes pool textures that can be read back, for [`Session::run_stepwise`].
    pub readback: bool,
    /// Pipelines that other sessions made; what this one makes is added.
    pub pipelines: SharedPipelines,
}

/// What labels of the pool's textures begin with.
const POOL: &str = "pool";

/// A model on a device: textures created, pipelines compiled and weights uploaded once.
#[derive(Debug)]
pub struct Session {
    gpu: Gpu,
    compiled: CompiledModel,
    textures: TextureSet,
    program: Program,
    /// The step of each dispatch.
    steps: Vec<Option<usize>>,
    /// The texture of each storage.
    texture_of_storage: Vec<usize>,
    pipelines: Vec<PipelineRecipe>,
    transfers: Transfers,
    memory: Memory,
    setup_time: Duration,
}

impl Session {
    /// Plans the model and puts it on the device.
    ///
    /// # Errors
    /// [`GpuError::Compile`] where no plan can be made, [`GpuError::Kernel`] for a step without a kernel, and what the
    /// device says.
    pub fn new(gpu: &Gpu, graph: &Graph, options: &SessionOptions) -> Result<Self, GpuError> {
        Self::with_textures(gpu, graph, options, ExternalTextures::default())
    }

    /// The same with textures of the caller's for some inputs and outputs.
    ///
    /// # Errors
    /// [`GpuError::ExternalTexture`] where one is not as [`io_texture`] says, [`GpuError::NoSuchTensor`] for one past
    /// the last input or output, and as [`new`](Self::new).
    pub fn with_textures(
        gpu: &Gpu,
        graph: &Graph,
        options: &SessionOptions,
        external: ExternalTextures,
    ) -> Result<Self, GpuError> {
        let begun = Instant::now();
        let limits = gpu.texture_limits();
        let compiled = compile(graph, &CompileOptions { limits, ..options.compile.clone() }, &SearchControl::new())?;
        let mut session = Self::from_compiled(gpu, compiled, options, external)?;
        session.setup_time = begun.elapsed();
        Ok(session)
    }

    /// Puts a model on the device that was compiled for it with `options`, within its [limits](Gpu::texture_limits).
    ///
    /// # Errors
    /// As [`with_textures`](Self::with_textures).
    pub fn from_compiled(
        gpu: &Gpu,
        compiled: CompiledModel,
        options: &SessionOptions,
        external: ExternalTextures,
    ) -> Result<Self, GpuError> {
        let begun = Instant::now();
        // Kernels rely on both: see `pipelines.rs`.
        check(&compiled.graph)?;
        ops::check(&compiled.graph)?;
        external.check(&compiled.graph)?;
        let format = options.compile.format;
        let max_extent = gpu.texture_limits().max_extent;
        let mut textures = TextureSet::new(gpu);

        for (i, &spec) in compiled.plan.textures.iter().enumerate() {
            textures.create(&format!("{POOL} {i}"), spec, if options.readback { Role::Shared } else { Role::Pool })?;
        }
        let mut memory = Memory { pool_planned: compiled.plan.bytes(), ..Memory::default() };

        let mut transfers = Transfers::new();
        let mut texture_of_storage = Vec::with_capacity(compiled.schedule.storages.len());
        for storage in &compiled.schedule.storages {
            let (role, index) = match storage.kind {
                StorageKind::Intermediate(record) => {
                    texture_of_storage.push(compiled.plan.placements[record].texture);
                    continue;
                }
                StorageKind::Input(i) => (TensorRole::Input, i),
                StorageKind::Output(i) => (TensorRole::Output, i),
            };
            let tensor = &compiled.graph.tensors[storage.tensor];
            let spec = io_texture(tensor.shape, format, max_extent);
            let texture = match external.get(role, index) {
                Some(texture) => {
                    transfers.skip(role, &tensor.name);
                    textures.adopt(role, index, &tensor.name, spec, texture.clone())?
                }
                None => {
                    let texture = textures.create(&format!("{role} {index}"), spec, Role::Shared)?;
                    transfers.add(gpu, &textures, texture, tensor, (role, index))?;
                    memory.io_planned += spec.bytes();
                    texture
                }
            };
            texture_of_storage.push(texture);
        }
        let (weight_places, weight_bytes) = weights::upload(gpu, &mut textures, &compiled.graph, format)?;
        memory.weights = weight_bytes;
        let placed = PlacedModel { compiled: &compiled, textures: &textures, texture_of_storage: &texture_of_storage };
        let (steps, dispatches): (Vec<_>, Vec<_>) =
            placed.dispatches(&weight_places, options.poison, gpu.device.limits().max_buffer_size)?.into_iter().unzip();
        let mut pipelines = Pipelines::with_cache(gpu, format, options.pipelines.clone())?;
        let program = Program::new(gpu, &mut textures, &mut pipelines, format, &dispatches)?;
        (memory.tables, memory.staging) = (program.table_bytes(), transfers.bytes());
        Ok(Self {
            gpu: gpu.clone(),
            compiled,
            textures,
            program,
            steps,
            texture_of_storage,
            pipelines: pipelines.recipes(),
            transfers,
            memory,
            setup_time: begun.elapsed(),
        })
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
    pub fn run(&mut self, inputs: &[&[f32]]) -> Result<Vec<Vec<f32>>, GpuError> {
        let mut outputs = self.transfers.empty_outputs();
        self.run_into(inputs, &mut outputs)?;
        Ok(outputs)
    }

    /// The same into vectors of the caller's, which must have the outputs' lengths. Where it fails they hold anything.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_into(&mut self, inputs: &[&[f32]], outputs: &mut [Vec<f32>]) -> Result<(), GpuError> {
        self.transfers.check_outputs(outputs)?;
        self.run_with_transfers(
            "a run of the model",
            inputs,
            &[TensorRole::Input, TensorRole::Output],
            |session, encoder| {
                session.program.encode(encoder, None);
            },
        )?;
        self.transfers.take(&self.textures, outputs)?;
        self.transfers.ended();
        Ok(())
    }

    /// Loads inputs, submits their transfer, `encode`, and the transfer of outputs, and waits until all that is done.
    /// The caller says when the buffers are as the next run wants them.
    fn run_with_transfers(
        &mut self,
        what: &str,
        inputs: &[&[f32]],
        moved: &[TensorRole],
        encode: impl FnOnce(&Self, &mut wgpu::CommandEncoder),
    ) -> Result<(), GpuError> {
        self.transfers.check_inputs(inputs)?;
        self.transfers.recover(&self.gpu, &self.textures)?;
        self.transfers.begun();
        self.transfers.load(&self.textures, inputs)?;
        let (submission, mappings) = self.gpu.scoped(what, || {
            let mut encoder =
                self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("run") });
            self.transfers.encode(TensorRole::Input, &self.textures, &mut encoder);
            encode(self, &mut encoder);
            if moved.contains(&TensorRole::Output) {
                self.transfers.encode(TensorRole::Output, &self.textures, &mut encoder);
            }
            let submission = self.gpu.queue.submit([encoder.finish()]);
            let mappings: Vec<_> = moved.iter().flat_map(|&role| self.transfers.map(role)).collect();
            (submission, mappings)
        })?;
        self.transfers.submitted(submission.clone());
        self.gpu.wait(&submission, what)?;
        mappings.into_iter().try_for_each(|mapping| mapping.finish(&self.gpu))
    }

    /// Waits through this session take at most `timeout` from now on.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.gpu = self.gpu.clone().with_timeout(timeout);
        self.textures.set_timeout(timeout);
    }

    /// Runs the model one step at a time and shows what each has written: the step's number in the schedule, and the
    /// rows it computed in dense order. Goes on while `seen` answers true. Bands of a border alone are not shown: what
    /// they surround may follow. The session must have been made with [`readback`](SessionOptions::readback).
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_stepwise(
        &mut self,
        inputs: &[&[f32]],
        mut seen: impl FnMut(usize, &[f32]) -> bool,
    ) -> Result<(), GpuError> {
        self.run_with_transfers("bringing the inputs", inputs, &[TensorRole::Input], |_, _| {})?;
        self.transfers.ended();
        let placed = PlacedModel {
            compiled: &self.compiled,
            textures: &self.textures,
            texture_of_storage: &self.texture_of_storage,
        };
        let mut next = 0;
        for (number, step) in self.compiled.schedule.steps.iter().enumerate() {
            // Poison that goes before a step is part of it; what comes behind it is the next one's.
            let end = next + self.steps[next..].iter().rposition(|&of| of == Some(number)).map_or(0, |last| last + 1);
            self.program.run(&self.gpu, next..end)?;
            next = end;
            let result = placed.operand(self.compiled.graph.nodes[step.node].output);
            // What some rows of a border surround may follow, and is seen by itself.
            let part = |operand: &Operand| step.pad_border && step.rows.len() < operand.shape.rows();
            let Some(operand) = result.filter(|operand| !part(operand)) else { continue };
            if !seen(number, &self.textures.read_rows(&operand, step.rows.clone())?) {
                break;
            }
        }
        Ok(())
    }

    /// Encodes a run into a command encoder of the caller's: inputs are what lies in their textures.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        self.program.encode(encoder, None);
    }

    /// Runs the model on the inputs of the last run, each dispatch in a pass of its own, and answers their times in
    /// order, however many they are; `None` where the device has no timestamps.
    ///
    /// # Errors
    /// What the device says, [`GpuError::Timeout`].
    pub fn profile(&mut self) -> Result<Option<Vec<DispatchTime>>, GpuError> {
        self.transfers.recover(&self.gpu, &self.textures)?;
        let Some(queries) = TimestampQueries::new(&self.gpu, self.program.len())? else { return Ok(None) };
        let mut last = None;
        let submitted = &mut |submission: wgpu::SubmissionIndex| {
            last = Some(submission.clone());
            self.transfers.submitted(submission);
        };
        let mapping = queries.run(&self.gpu, &self.program, submitted)?;
        if let Some(last) = last {
            self.gpu.wait(&last, "a run with timestamps")?;
        }
        mapping.finish(&self.gpu)?;
        let times = queries.times(&self.gpu)?;
        self.transfers.ended();
        let of = |((&step, kernel), ms)| DispatchTime { step, kernel, ms };
        Ok(Some(self.steps.iter().zip(self.program.labels()).zip(times).map(of).collect()))
    }

    /// The model as it runs, its schedule and its plan.
    pub fn compiled(&self) -> &CompiledModel {
        &self.compiled
    }

    /// What the session takes of the device's memory. Asks the driver, which looks through all that the device holds.
    pub fn memory(&self) -> Memory {
        let (driver, pool_driver) = match self.textures.allocations().bytes(&self.gpu, POOL) {
            Some([all, pool]) => (Some(all), Some(pool)),
            None => (None, None),
        };
        Memory { pool_driver, driver, ..self.memory }
    }

    /// Number of dispatches of a run.
    pub fn dispatches(&self) -> usize {
        self.program.len()
    }

    /// The pipelines made.
    pub fn pipelines(&self) -> &[PipelineRecipe] {
        &self.pipelines
    }

    /// How long it took to plan, compile and upload.
    pub fn setup_time(&self) -> Duration {
        self.setup_time
    }
}

/// The texture that holds a graph input or output of that shape, whole, row after row from its first texel: 256 texels
/// wide, wider where the height would pass `max_extent`.
pub fn io_texture(shape: Shape, format: TexelFormat, max_extent: u32) -> TextureSpec {
    let texels = shape.texels() as u64;
    let mut width = 256u64;
    while texels.div_ceil(width) > u64::from(max_extent) && width * 2 <= u64::from(max_extent) {
        width *= 2;
    }
    let height = u32::try_from(texels.div_ceil(width)).unwrap_or(u32::MAX);
    TextureSpec { width: width as u32, height, format }
}
