//! Builds the kernels' view of a plan's steps: every operand with its texture and its row table.

use crate::schedule::{Schedule, Step, StepKind, StorageId, StorageKind};
use texpool_ops::{
    graph::{Graph, IdVec, NodeId, TensorId},
    kernels::{self, Dispatch, KernelError, Operand, StepContext, WeightPacking, WeightPlace},
    ops::{self, NeededPart},
};
use texpool_plan::{Plan, RowTable, TextureSpec};

/// A schedule with a location for each storage.
pub struct PlacedSteps<'a> {
    /// The rewritten graph.
    pub graph: &'a Graph,
    /// The steps and their storages.
    pub schedule: &'a Schedule,
    /// The pool.
    pub plan: &'a Plan,
    /// Packing of each node's weights.
    pub packings: &'a IdVec<NodeId, WeightPacking>,
    /// Index of each storage's texture.
    pub texture_of_storage: &'a [usize],
    /// Returns width, height and format of a texture.
    pub spec: &'a dyn Fn(usize) -> Option<TextureSpec>,
}

impl PlacedSteps<'_> {
    /// Returns a tensor and its location, or `None` for constants and tensors that no step touches.
    pub fn operand(&self, tensor: TensorId) -> Option<Operand> {
        let Self { graph, schedule, .. } = self;
        let storage = schedule.storage_of[tensor]?;
        let rows = schedule.row_table(graph, tensor, &self.rows(storage))?;
        let texture = self.texture_of_storage[storage];
        let (shape, spec) = (graph.shape(tensor), (self.spec)(texture)?);
        let pitch = schedule.layout_of(graph, tensor).pitch;
        let storage = graph.tensors[tensor].storage;
        Some(Operand { shape, texture, shift: spec.shift(), texels: spec.texels(), rows, pitch, storage })
    }

    /// Returns the row table of a storage.
    pub fn rows(&self, storage: StorageId) -> RowTable {
        let storage = &self.schedule.storages[storage];
        match storage.kind {
            StorageKind::Intermediate(record) => self.plan.placements[record].rows.clone(),
            StorageKind::Input(_) | StorageKind::Output(_) => {
                RowTable::Whole { base: 0, rows: storage.rows, row_texels: storage.row_texels }
            }
        }
    }

    /// Returns the location of a step's weights if they are uploaded in every run.
    fn uploaded_weights(&self, step: &Step) -> Option<WeightPlace> {
        let storage = self.schedule.weights_of(step)?;
        let texture = self.texture_of_storage[storage];
        let packing = self.packings.get(step.node).copied().unwrap_or_default();
        let node = &self.graph.nodes[step.node];
        let divided = ops::weight_sections(self.graph, node, packing);
        let skipped = divided.map_or(0, |sections| sections.skipped(step.slices.start));
        let sections = ops::section_texels(self.graph, node, packing, &step.slices).into_iter();
        let sections = sections.map(|(role, texels)| (role, u32::try_from(texels).unwrap_or(u32::MAX)));
        let (spec, first) = ((self.spec)(texture)?, self.rows(storage).start(0));
        let (unit, shift) = (spec.format.texels_of_words(), spec.shift());
        let bytes_from = (unit > 1).then_some(first % unit);
        let place = WeightPlace { texture, skipped, shift, packing, bytes_from, ..WeightPlace::default() };
        Some(place.in_order(first / unit, sections))
    }

    /// Returns the dispatches of a step, or `None` if its result has no location. Weights that stay on the device are
    /// at `resident`. With a `part` of the result, only what the step computes of that.
    pub fn dispatches(
        &self,
        step: &Step,
        resident: WeightPlace,
        part: Option<NeededPart>,
    ) -> Option<Result<Vec<Dispatch>, KernelError>> {
        let graph = self.graph;
        let node = &graph.nodes[step.node];
        let output = self.operand(node.output)?;
        if step.kind == StepKind::PadBorder {
            let border = kernels::fill::pad_border(graph, node, &output, step.rows.clone());
            return Some(border.map(|dispatch| vec![dispatch]));
        }
        // A step computes at least a row and a column, so that it has as many dispatches in each run.
        let rows = part.map_or(step.rows.clone(), |part| {
            step.rows.start..step.rows.end.min(part.end_row.max(step.rows.start + 1))
        });
        let context = StepContext {
            graph,
            node,
            inputs: node.inputs.iter().map(|&tensor| self.operand(tensor)).collect(),
            add: node.epilogue.add.and_then(|tensor| self.operand(tensor)),
            output,
            rows,
            slices: step.slices.clone(),
            weights: self.uploaded_weights(step).unwrap_or(resident),
        };
        Some(ops::lower(&context, part.map(|part| part.width.max(1))))
    }
}
