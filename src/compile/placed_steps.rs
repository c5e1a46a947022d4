//! The steps of a plan as kernels are told of them: every operand with its texture and its row table.

use crate::{
    graph::{Graph, IdVec, NodeId, TensorId},
    kernels::{self, Dispatch, KernelError, Operand, StepContext, WeightPacking, WeightPlace},
    ops,
    plan::{Plan, RowTable, TextureSpec},
    schedule::{Schedule, Step, StepKind, StorageId, StorageKind},
};

/// A schedule whose storages have their places.
pub(crate) struct PlacedSteps<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) schedule: &'a Schedule,
    pub(crate) plan: &'a Plan,
    /// How the weights of each node are packed.
    pub(crate) packings: &'a IdVec<NodeId, WeightPacking>,
    /// The texture of each storage.
    pub(crate) texture_of_storage: &'a [usize],
    /// Width, height and format of each texture.
    pub(crate) spec: &'a dyn Fn(usize) -> Option<TextureSpec>,
}

impl PlacedSteps<'_> {
    /// A tensor and its place; none for constants and what no step touches.
    pub(crate) fn operand(&self, tensor: TensorId) -> Option<Operand> {
        let Self { graph, schedule, .. } = self;
        let storage = schedule.storage_of[tensor]?;
        let rows = schedule.row_table(graph, tensor, &self.rows(storage))?;
        let texture = self.texture_of_storage[storage];
        let (shape, spec) = (graph.shape(tensor), (self.spec)(texture)?);
        let pitch = schedule.layout_of(graph, tensor).pitch;
        Some(Operand { shape, texture, shift: spec.shift(), texels: spec.texels(), rows, pitch })
    }

    /// Where the rows of a storage start.
    pub(crate) fn rows(&self, storage: StorageId) -> RowTable {
        let held = &self.schedule.storages[storage];
        match held.kind {
            StorageKind::Intermediate(record) => self.plan.placements[record].rows.clone(),
            StorageKind::Input(_) | StorageKind::Output(_) => {
                RowTable::Whole { base: 0, rows: held.rows, row_texels: held.row_texels }
            }
        }
    }

    /// Where the weights of a step lie that are uploaded in every run.
    fn uploaded_weights(&self, step: &Step) -> Option<WeightPlace> {
        let storage = self.schedule.weights_of(step)?;
        let texture = self.texture_of_storage[storage];
        let packing = self.packings.get(step.node).copied().unwrap_or_default();
        let sections = ops::weight_sections(self.graph, &self.graph.nodes[step.node], packing);
        Some(WeightPlace {
            texture,
            base: self.rows(storage).start(0),
            texels: self.schedule.storages[storage].row_texels,
            shift: (self.spec)(texture)?.shift(),
            skipped: sections.map_or(0, |sections| sections.skipped(step.slices.start)),
            packing,
        })
    }

    /// The dispatches of a step, with weights that lie at `resident` where they stay on the device; none where its result has
    /// no place.
    pub(crate) fn dispatches(&self, step: &Step, resident: WeightPlace) -> Option<Result<Vec<Dispatch>, KernelError>> {
        let graph = self.graph;
        let node = &graph.nodes[step.node];
        let output = self.operand(node.output)?;
        if step.kind == StepKind::PadBorder {
            let border = kernels::fill::pad_border(graph, node, &output, step.rows.clone());
            return Some(border.map(|dispatch| vec![dispatch]));
        }
        Some(ops::lower(&StepContext {
            graph,
            node,
            inputs: node.inputs.iter().map(|&tensor| self.operand(tensor)).collect(),
            add: node.epilogue.add.and_then(|tensor| self.operand(tensor)),
            output,
            rows: step.rows.clone(),
            slices: step.slices.clone(),
            weights: self.uploaded_weights(step).unwrap_or(resident),
        }))
    }
}
