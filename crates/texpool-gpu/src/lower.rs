//! Lowers a compiled model to dispatches: assigns a texture and row table to every operand.

use super::{
    GpuError, TextureSet,
    params::SharedBlocks,
    pipelines::counts,
    streamed::{TexelTransfer, TransferOf},
};
use texpool_compile::{
    CompiledModel, PlacedSteps,
    schedule::{Contents, Step, StepKind, StorageId},
};
use texpool_ops::{
    graph::{IdVec, NodeId, Shape, TensorId, TexelStorage},
    kernels::{self, Dispatch, Operand, WeightPlace},
    ops::Needed,
};
use texpool_plan::{RowTable, TexelFormat, TextureSpec};

/// A compiled model with the textures that hold its tensors.
pub(super) struct PlacedModel<'a> {
    pub(super) compiled: &'a CompiledModel,
    pub(super) textures: &'a TextureSet,
    /// Texture index of each storage.
    pub(super) texture_of_storage: &'a [usize],
}

impl PlacedModel<'_> {
    /// Calls `ask` with the placed steps, the form that kernels work on.
    fn told<T>(&self, ask: impl FnOnce(&PlacedSteps<'_>) -> T) -> T {
        let (graph, schedule, plan, packings) =
            (self.compiled.graph(), self.compiled.schedule(), self.compiled.plan(), self.compiled.packings());
        let spec = |texture: usize| Some(self.textures.spec(texture));
        let texture_of_storage = self.texture_of_storage;
        ask(&PlacedSteps { graph, schedule, plan, packings, texture_of_storage, spec: &spec })
    }

    /// Returns a tensor with its place; `None` for constants and unused tensors.
    pub(super) fn operand(&self, tensor: TensorId) -> Option<Operand> {
        self.told(|steps| steps.operand(tensor))
    }

    /// Returns the row table of a storage.
    fn rows(&self, storage: StorageId) -> RowTable {
        self.told(|steps| steps.rows(storage))
    }

    /// Returns the contents of a storage: a tensor, or weights as a tensor of one row.
    fn contents(&self, storage: StorageId) -> Option<Operand> {
        let held = &self.compiled.schedule().storages[storage];
        let Some(tensor) = held.tensor() else {
            let (texture, texels) = (self.texture_of_storage[storage], held.row_texels);
            let spec = self.textures.spec(texture);
            let shape = Shape::new(1, 1, texels as usize, 4);
            let (rows, storage) = (self.rows(storage), texel_bytes(spec));
            let (shift, held) = (spec.shift(), spec.texels());
            return Some(Operand { shape, texture, shift, texels: held, rows, pitch: texels, storage });
        };
        self.operand(tensor)
    }

    /// Adds the transfers of a step, which precede dispatch `before`: either weights, or the rows of an input or
    /// output one by one, since each may be stored anywhere.
    fn transfer(&self, step: &Step, before: usize, transfers: &mut Vec<TexelTransfer>) {
        let (graph, schedule) = (self.compiled.graph(), self.compiled.schedule());
        let (texture, table) = (self.texture_of_storage[step.to], self.rows(step.to));
        let transfer = |of: TransferOf, first: u32| TexelTransfer { of, texture, first, before };
        let tensor = match schedule.storages[step.to].contents {
            Contents::Weights(node) => {
                let weights = TransferOf::Weights { node, slices: step.slices.clone() };
                return transfers.push(transfer(weights, table.start(0)));
            }
            Contents::Tensor(tensor) => tensor,
        };
        let number = |tensors: &[TensorId]| tensors.iter().position(|&other| other == tensor);
        let row_texels = table.row_texels() as usize;
        for row in step.rows.clone() {
            let texels = row as usize * row_texels..(row as usize + 1) * row_texels;
            let of = match step.kind {
                StepKind::Download => number(&graph.outputs).map(|output| TransferOf::Output { output, texels }),
                StepKind::Upload | StepKind::Compute | StepKind::PadBorder => {
                    number(&graph.inputs).map(|input| TransferOf::Input { input, texels })
                }
            };
            transfers.extend(of.map(|of| transfer(of, table.start(row))));
        }
    }

    /// Returns the dispatches of a step. They compute what a run needs of its result, if the same pipelines can do so.
    fn dispatches(
        &self,
        step: &Step,
        weights: &IdVec<NodeId, WeightPlace>,
        needed: Option<&Needed>,
    ) -> Result<Vec<Dispatch>, GpuError> {
        let graph = self.compiled.graph();
        let node = &graph.nodes[step.node];
        let of_part = |part| match self.told(|steps| steps.dispatches(step, weights[step.node], part)) {
            Some(dispatches) => Ok(dispatches?),
            None => Err(GpuError::NotPlaced { op_index: node.op_index, op: node.op.name() }),
        };
        let whole: Vec<Dispatch> = of_part(None)?;
        let Some(part) = needed.and_then(|needed| needed.part(graph, node)) else { return Ok(whole) };
        let narrow = of_part(Some(part))?;
        let are_alike = whole.len() == narrow.len() && whole.iter().zip(&narrow).all(|(a, b)| a.has_pipeline_of(b));
        Ok(if are_alike { narrow } else { whole })
    }

    /// Returns the dispatches of all steps in order, for a run that needs certain places or for any, and the transfers
    /// between them. The dispatches' blocks must fit
    /// into a buffer of `max_bytes`; a tensor with very many scattered rows has a long row table.
    pub(super) fn commands(
        &self,
        weights: &IdVec<NodeId, WeightPlace>,
        needed: Option<&Needed>,
        poison: bool,
        max_bytes: u64,
    ) -> Result<Commands, GpuError> {
        let (graph, schedule, plan) = (self.compiled.graph(), self.compiled.schedule(), self.compiled.plan());
        let format = self.compiled.format();
        let mut all: Vec<(Option<usize>, Dispatch)> = Vec::new();
        let mut transfers = Vec::new();
        let last_uses = if poison { schedule.last_uses() } else { Vec::new() };
        if poison {
            // Uses the actual sizes: the textures of a shared pool may be larger than planned.
            for texture in 0..plan.textures.len() {
                let spec = self.textures.spec(texture);
                let rows = 0..spec.height;
                all.push((None, kernels::fill::fill(&whole(texture, spec), rows, f32::NAN)?));
            }
        }
        let mut blocks = SharedBlocks::default();
        for (index, step) in schedule.steps.iter().enumerate() {
            let node = &graph.nodes[step.node];
            let mut dispatches = if step.kind.is_transfer() {
                self.transfer(step, all.len(), &mut transfers);
                Vec::new()
            } else {
                self.dispatches(step, weights, needed)?
            };
            for dispatch in &mut dispatches {
                if counts(format, dispatch.shader) {
                    dispatch.counting_for(step.node.index());
                }
                blocks.share(dispatch);
                self.textures.check_rounds(dispatch.rounds, node)?;
            }
            // Checked on the way, so that oversized tables are rejected before all of them are built.
            let bytes = blocks.bytes();
            if bytes > max_bytes {
                let what = format!("parameters of all steps up to operator {} ({})", node.op_index, node.op.name());
                let (limit, needed, allowed) = ("maxBufferSize", bytes, max_bytes);
                return Err(GpuError::Limit { what, node: None, limit, needed, allowed });
            }
            all.extend(dispatches.into_iter().map(|dispatch| (Some(index), dispatch)));
            for (storage, rows) in last_uses.get(index).into_iter().flatten() {
                if let Some(operand) = self.contents(*storage) {
                    let mut fill = kernels::fill::fill(&operand, rows.clone(), f32::NAN)?;
                    blocks.share(&mut fill);
                    all.push((None, fill));
                }
            }
        }
        let (steps, dispatches) = all.into_iter().unzip();
        Ok(Commands { steps, dispatches, transfers })
    }
}

/// Commands of a run.
pub(super) struct Commands {
    /// The step of each dispatch; `None` for poison.
    pub(super) steps: Vec<Option<usize>>,
    pub(super) dispatches: Vec<Dispatch>,
    /// Sorted by the dispatches that they precede.
    pub(super) transfers: Vec<TexelTransfer>,
}

/// Returns an operand that covers a whole texture as one tensor of four channels.
fn whole(texture: usize, spec: TextureSpec) -> Operand {
    let shape = Shape::new(1, spec.height as usize, spec.width as usize, 4);
    let rows = RowTable::Whole { base: 0, rows: spec.height, row_texels: spec.width };
    let storage = texel_bytes(spec);
    Operand { shape, texture, shift: spec.shift(), texels: spec.texels(), rows, pitch: spec.width, storage }
}

/// Returns the representation of a texture's texels whatever tensors they hold: bytes as their numbers.
const fn texel_bytes(spec: TextureSpec) -> TexelStorage {
    match spec.format {
        TexelFormat::Rgba8Uint => TexelStorage::Bytes { scale: 1.0, least: 0 },
        TexelFormat::Rgba32Float | TexelFormat::Rgba16Float | TexelFormat::Rgba32Uint => TexelStorage::Values,
    }
}
