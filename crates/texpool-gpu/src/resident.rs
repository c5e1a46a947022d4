//! Device resources of a session, created and released together.

use std::sync::Arc;

use super::{
    Gpu, GpuError, PipelineRecipe, Pipelines, Program, Role, SharedPipelines, TextureSet,
    allocations::{Allocations, POOL},
    lower::{Commands, PlacedModel},
    pool::PoolSource,
    staging::Staging,
    streamed::StreamedRun,
    weights::WeightTextures,
};
#[cfg(not(target_arch = "wasm32"))]
use super::{ports::Port, streamed::Run};
use texpool_compile::{CompiledModel, schedule::StorageKind};
use texpool_ops::{
    graph::{IdVec, NodeId},
    kernels::WeightPlace,
    ops::Needed,
};
use texpool_plan::{TexelFormat, TextureSpec};

/// Options for creating them.
#[derive(Clone, Debug)]
pub(super) struct ResidentOptions {
    pub(super) format: TexelFormat,
    pub(super) poison: bool,
    pub(super) pipelines: SharedPipelines,
}

/// Pool, weights and bound dispatches of a session.
#[derive(Debug)]
pub(super) struct Resident {
    pub(super) textures: TextureSet,
    pub(super) program: Program,
    /// The step of each dispatch.
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "only blocking calls run step by step"))]
    pub(super) steps: Vec<Option<usize>>,
    /// Texture index of each storage.
    pub(super) texture_of_storage: Vec<usize>,
    pub(super) recipes: Vec<PipelineRecipe>,
    pub(super) weights: Arc<WeightTextures>,
    /// Place of each node's weights among the textures.
    pub(super) places: IdVec<NodeId, WeightPlace>,
    /// Transfers between host and device in the middle of a run.
    pub(super) streamed: StreamedRun,
    /// Generation of the pool's textures at creation.
    pub(super) generation: u64,
    /// Texture index of the first input; the other inputs follow, then the outputs.
    pub(super) first_port: usize,
}

impl Resident {
    /// Creates the resources and reserves texture indices for the inputs and outputs, `ports`.
    pub(super) fn new(
        gpu: &Gpu,
        compiled: &CompiledModel,
        options: &ResidentOptions,
        (allocations, staging): (&Arc<Allocations>, &Arc<Staging>),
        pool: &PoolSource,
        weights: Arc<WeightTextures>,
        ports: &[TextureSpec],
    ) -> Result<Self, GpuError> {
        let format = options.format;
        let mut textures = TextureSet::labelled(gpu, Arc::clone(allocations));
        let mut generation = 0;
        match pool {
            PoolSource::Own => {
                for (i, &spec) in compiled.plan().textures.iter().enumerate() {
                    textures.create(&format!("{POOL} {i}"), spec, Role::Pool)?;
                }
            }
            PoolSource::Shared { pool, places } => {
                let (made, held) = pool.textures()?;
                generation = made;
                for (spec, texture) in places.iter().filter_map(|&place| held.get(place)) {
                    textures.push(*spec, texture.clone());
                }
            }
        }
        // Placeholder for the texture of a port that has none yet; it is never bound.
        let spare = textures.spare(format)?;
        let placeholder = textures.texture(spare).clone();
        let first_port = textures.len();
        let numbers: Vec<usize> = ports.iter().map(|&spec| textures.push(spec, placeholder.clone())).collect();
        let inputs = compiled.graph().inputs.len();
        let texture_of = |kind: &StorageKind| match *kind {
            StorageKind::Intermediate(record) => compiled.plan().placements[record].texture,
            StorageKind::Input(i) => first_port + i,
            StorageKind::Output(i) => first_port + inputs + i,
        };
        let texture_of_storage: Vec<usize> =
            compiled.schedule().storages.iter().map(|storage| texture_of(&storage.kind)).collect();
        let places = weights.add_to(&mut textures);
        let placed = PlacedModel { compiled, textures: &textures, texture_of_storage: &texture_of_storage };
        let Commands { steps, dispatches, transfers } =
            placed.commands(&places, None, options.poison, gpu.device.limits().max_buffer_size)?;
        let (packed, buffers) = (weights.packed(), compiled.transfer_buffers());
        let streamed = StreamedRun::new(staging, packed, &transfers, format, buffers, dispatches.len());
        let mut pipelines = Pipelines::with_cache(gpu, format, options.pipelines.clone())?;
        let program = Program::with_rebindable(gpu, &mut textures, &mut pipelines, format, &dispatches, &numbers)?;
        let recipes = pipelines.recipes();
        Ok(Self {
            textures,
            program,
            steps,
            texture_of_storage,
            recipes,
            weights,
            places,
            streamed,
            generation,
            first_port,
        })
    }

    /// Makes the program compute what runs need whose inputs have certain extents. Inputs and outputs must be bound again.
    pub(super) fn narrow(
        &mut self,
        gpu: &Gpu,
        compiled: &CompiledModel,
        options: &ResidentOptions,
        needed: &Needed,
    ) -> Result<(), GpuError> {
        let ports = self.first_port..self.first_port + compiled.graph().inputs.len() + compiled.graph().outputs.len();
        let Self { textures, texture_of_storage, places, .. } = self;
        let placed = PlacedModel { compiled, textures, texture_of_storage };
        let limit = gpu.device.limits().max_buffer_size;
        let Commands { dispatches, .. } = placed.commands(places, Some(needed), options.poison, limit)?;
        let mut pipelines = Pipelines::with_cache(gpu, options.format, options.pipelines.clone())?;
        let changing: Vec<usize> = ports.collect();
        let format = options.format;
        self.program = Program::with_rebindable(gpu, textures, &mut pipelines, format, &dispatches, &changing)?;
        Ok(())
    }

    /// Drops all references to the textures that a port has used. Ports are numbered with inputs first, then outputs.
    pub(super) fn release(&mut self, port: usize) {
        self.program.forget(self.first_port + port);
        self.textures.release(self.first_port + port);
    }

    /// Bundles the resources that a piece-by-piece run needs.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn run<'a>(&'a self, inputs: &'a [Port]) -> Run<'a> {
        Run { program: &self.program, textures: &self.textures, packed: self.weights.packed(), inputs }
    }

    /// Returns the model with its places.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn placed<'a>(&'a self, compiled: &'a CompiledModel) -> PlacedModel<'a> {
        PlacedModel { compiled, textures: &self.textures, texture_of_storage: &self.texture_of_storage }
    }
}
