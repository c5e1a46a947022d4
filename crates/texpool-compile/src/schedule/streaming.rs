//! Weights and inputs as records of a schedule. They are uploaded in every run before the first step that reads them
//! and are dead after the last one, so other tensors and weights can use the same memory before and after. Outputs
//! are records from the first step that writes them until they are downloaded.

use std::{collections::BTreeMap, ops::Range};

use super::{Access, Accesses, Contents, Schedule, Step, StepKind, Storage, StorageId, StorageKind, subtensor::merged};
use smallvec::smallvec;
use texpool_ops::{
    graph::{Graph, IdVec, NodeId, TensorId},
    kernels::{WeightPacking, WeightSections},
    ops,
};
use texpool_plan::UsageRecord;

/// Selects the data that passes through the pool in every run: the weights of some nodes, and optionally graph inputs
/// and outputs. Inputs are uploaded row by row as they are needed, outputs downloaded row by row as they are
/// complete. All other weights stay on the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Streaming {
    /// `None` for nodes without weights, and for weights that stay on the device.
    nodes: IdVec<NodeId, Option<StreamedWeights>>,
    tile_texels: u64,
    /// Factor on `tile_texels` for individual nodes.
    tile_scales: BTreeMap<NodeId, u32>,
    inputs: bool,
    outputs: bool,
}

/// Weights of an operator that are uploaded in every run: all before its first stripe, or tile by tile if it has one
/// stripe. All fields are 0 if the operator has no weights or they stay on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperatorWeights {
    /// Texels of all weights.
    pub texels: u64,
    /// Texels of the largest tile.
    pub tile_texels: u64,
    /// Number of tiles.
    pub tiles: u64,
}

impl OperatorWeights {
    /// Returns the number of texels of weights in the pool while the operator runs in `stripes` stripes.
    pub(super) fn live(&self, stripes: u64) -> u64 {
        if stripes > 1 { self.texels } else { self.tile_texels }
    }

    /// Returns the number of extra steps: one upload per tile, and one more step of the operator per tile after the
    /// first.
    pub(super) fn steps(&self, stripes: u64) -> u64 {
        match (self.tiles, stripes) {
            (0, _) => 0,
            (tiles, 1) => 2 * tiles - 1,
            _ => 1,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct StreamedWeights {
    texels: u32,
    /// Texels of the pool for one of weights.
    unit: u32,
    /// Division of the weights into tiles; `None` if they cannot be divided.
    sections: Option<WeightSections>,
}

impl Streaming {
    /// Streams the weights of all nodes for which `is_streamed` returns true; it gets the node and the number of its
    /// texels in the pool under `packings`, `unit` for each texel of weights. If a node runs over all its rows in one step, and its kernel can compute some slices
    /// of its result separately, its weights are uploaded in tiles of at most `tile_texels`.
    pub fn new(
        graph: &Graph,
        packings: &IdVec<NodeId, WeightPacking>,
        unit: u32,
        tile_texels: u64,
        is_streamed: impl Fn(NodeId, u64) -> bool,
    ) -> Self {
        let streamed = |((id, node), &packing)| {
            let texels = ops::packed_weight_texels(graph, node, packing).saturating_mul(unit.into());
            // Counts beyond 32 bits do not fit into a texture either; packing reports that error.
            let texels = u32::try_from(texels).ok().filter(|&texels| texels > 0 && is_streamed(id, texels.into()))?;
            Some(StreamedWeights { texels, unit, sections: ops::weight_sections(graph, node, packing) })
        };
        let nodes = graph.nodes.iter_enumerated().zip(packings.iter()).map(streamed).collect();
        Self { nodes, tile_texels, tile_scales: BTreeMap::new(), inputs: false, outputs: false }
    }

    /// Sets whether the graph's inputs are streamed.
    #[must_use]
    pub const fn with_inputs(mut self, inputs: bool) -> Self {
        self.inputs = inputs;
        self
    }

    /// Sets whether the graph's outputs are streamed.
    #[must_use]
    pub const fn with_outputs(mut self, outputs: bool) -> Self {
        self.outputs = outputs;
        self
    }

    /// Sets factors on the tile size for some nodes.
    #[must_use]
    pub fn with_tile_scales(mut self, tile_scales: BTreeMap<NodeId, u32>) -> Self {
        self.tile_scales = tile_scales;
        self
    }

    /// Returns whether a storage is an input that is uploaded into the pool. Inputs that are also outputs are not.
    pub(super) fn is_uploaded(&self, graph: &Graph, storage: &Storage) -> bool {
        let goes_out = |tensor: TensorId| graph.outputs.contains(&tensor);
        self.inputs
            && matches!(storage.kind, StorageKind::Input(_))
            && storage.tensor().is_some_and(|tensor| !goes_out(tensor))
    }

    /// Returns the outputs of a schedule that are downloaded from the pool.
    pub(super) fn downloaded(&self, graph: &Graph, schedule: &Schedule) -> Vec<StorageId> {
        if self.outputs { schedule.downloadable(graph) } else { Vec::new() }
    }

    /// Returns whether only intermediate tensors pass through the pool.
    pub fn is_empty(&self) -> bool {
        !self.inputs && !self.outputs && !self.has_weights()
    }

    /// Returns whether any weights pass through the pool.
    pub fn has_weights(&self) -> bool {
        self.nodes.iter().any(Option::is_some)
    }

    /// Returns the space and number of tiles of a node's weights.
    pub(super) fn of(&self, node: NodeId) -> OperatorWeights {
        let Some(streamed) = self.get(node) else { return OperatorWeights::default() };
        let (mut tiles, mut tile_texels) = (0, 0);
        for slices in self.tiles(node, streamed) {
            tiles += 1;
            tile_texels = tile_texels.max(u64::from(streamed.texels_of(&slices)));
        }
        let texels = u64::from(streamed.texels);
        match tiles {
            0 | 1 => OperatorWeights { texels, tile_texels: texels, tiles: 1 },
            _ => OperatorWeights { texels, tile_texels, tiles },
        }
    }

    fn get(&self, node: NodeId) -> Option<&StreamedWeights> {
        self.nodes.get(node)?.as_ref()
    }

    fn tiles(&self, node: NodeId, streamed: &StreamedWeights) -> impl Iterator<Item = Range<u32>> + use<> {
        let scale = self.tile_scales.get(&node).copied().unwrap_or(1);
        let texels = self.tile_texels.saturating_mul(scale.into());
        let texels = texels / u64::from(streamed.unit);
        let tiles = streamed.sections.as_ref().map(|sections| sections.tiles(texels));
        tiles.into_iter().flatten()
    }
}

impl StreamedWeights {
    /// Returns the texels of the weights for some slices, or for all slices if they cannot be divided.
    fn texels_of(&self, slices: &Range<u32>) -> u32 {
        match &self.sections {
            // At most `texels`, so it fits into 32 bits.
            Some(sections) => (sections.slice_texels() * slices.len() as u64) as u32 * self.unit,
            None => self.texels,
        }
    }
}

/// Adds transfers to a schedule: uploads before the steps that read the data, and downloads after the steps that
/// write it. A step over all rows of its node's result is split into one step per tile.
pub fn stream(graph: &Graph, schedule: Schedule, streaming: &Streaming) -> Schedule {
    if streaming.is_empty() {
        return schedule;
    }
    let mut steps_of = IdVec::from_elem(0, &graph.nodes);
    schedule.steps.iter().for_each(|step| steps_of[step.node] += 1);
    let downloaded = streaming.downloaded(graph, &schedule);
    let Schedule { steps, storages, storage_of, subtensors, .. } = schedule;
    let mut streamed_schedule = Schedule { storages, storage_of, subtensors, ..Schedule::default() };
    let mut inputs = Inputs::new(graph, &mut streamed_schedule, streaming);
    for &output in &downloaded {
        // Gets its number together with all other records.
        streamed_schedule.storages[output].kind = StorageKind::Intermediate(usize::MAX);
    }
    // Storage of the weights of each node that has several steps.
    let mut uploaded: IdVec<NodeId, Option<StorageId>> = IdVec::from_elem(None, &graph.nodes);
    for step in steps {
        inputs.upload(&mut streamed_schedule, &step);
        let streamed = streaming.get(step.node).filter(|_| step.kind == StepKind::Compute);
        let Some(streamed) = streamed else {
            streamed_schedule.steps.push(step);
            continue;
        };
        if let Some(weights) = uploaded[step.node] {
            streamed_schedule.steps.push(reading(step, weights, streamed.texels));
            continue;
        }
        let tiles: Vec<Range<u32>> = match steps_of[step.node] {
            1 => streaming.tiles(step.node, streamed).collect(),
            _ => Vec::new(),
        };
        if tiles.len() < 2 {
            let weights = streamed_schedule.upload(&step, step.slices.clone(), streamed.texels);
            uploaded[step.node] = Some(weights);
            streamed_schedule.steps.push(reading(step, weights, streamed.texels));
            continue;
        }
        for slices in tiles {
            let texels = streamed.texels_of(&slices);
            let weights = streamed_schedule.upload(&step, slices.clone(), texels);
            let writes = streamed_schedule.writes_of_slices(graph, &step, &slices);
            streamed_schedule.steps.push(reading(Step { slices, writes, ..step.clone() }, weights, texels));
        }
    }
    streamed_schedule.download(&downloaded);
    streamed_schedule.numbered()
}

/// Graph inputs that are uploaded into the pool, with their progress.
struct Inputs {
    /// For each such storage, which of its rows are uploaded already.
    uploaded: BTreeMap<StorageId, Vec<bool>>,
}

impl Inputs {
    /// Moves the uploaded inputs of `schedule`, which has no steps yet, into the pool.
    fn new(graph: &Graph, schedule: &mut Schedule, streaming: &Streaming) -> Self {
        let mut uploaded = BTreeMap::new();
        for (id, storage) in schedule.storages.iter_mut().enumerate() {
            if streaming.is_uploaded(graph, storage) {
                // Gets its number together with all other records.
                storage.kind = StorageKind::Intermediate(usize::MAX);
                uploaded.insert(id, vec![false; storage.rows as usize]);
            }
        }
        Self { uploaded }
    }

    /// Adds uploads of the rows that a step reads and that are still missing, one per run of adjacent rows.
    fn upload(&mut self, schedule: &mut Schedule, step: &Step) {
        for read in &step.reads {
            let Some(uploaded) = self.uploaded.get_mut(&read.storage) else { continue };
            let rows = read.rows.start as usize..(read.rows.end as usize).min(uploaded.len());
            let missing: Vec<u32> = rows.filter(|&row| !uploaded[row]).map(|row| row as u32).collect();
            for run in missing.chunk_by(|a, b| a + 1 == *b) {
                let (Some(&first), Some(&last)) = (run.first(), run.last()) else { continue };
                let rows = first..last + 1;
                uploaded[first as usize..=last as usize].fill(true);
                let texels = 0..schedule.storages[read.storage].row_texels;
                let writes = smallvec![Access { storage: read.storage, rows: rows.clone(), texels }];
                let (kind, slices) = (StepKind::Upload, step.slices.clone());
                schedule.steps.push(Step {
                    kind,
                    node: step.node,
                    rows,
                    slices,
                    reads: Accesses::new(),
                    to: read.storage,
                    writes,
                });
            }
        }
    }
}

/// Returns the step with its weights added to its reads.
fn reading(mut step: Step, storage: StorageId, texels: u32) -> Step {
    step.reads.push(Access { storage, rows: 0..1, texels: 0..texels });
    step
}

impl Schedule {
    /// Adds the upload of a step's weights for some slices, and returns their storage.
    fn upload(&mut self, step: &Step, slices: Range<u32>, texels: u32) -> StorageId {
        let storage = self.storages.len();
        // Records are numbered once all steps exist.
        let kind = StorageKind::Intermediate(usize::MAX);
        self.storages.push(Storage { kind, contents: Contents::Weights(step.node), rows: 1, row_texels: texels });
        let writes = smallvec![Access { storage, rows: 0..1, texels: 0..texels }];
        let kind = StepKind::Upload;
        self.steps.push(Step {
            kind,
            node: step.node,
            rows: 0..0,
            slices,
            reads: Accesses::new(),
            to: storage,
            writes,
        });
        storage
    }

    /// Returns the texels that a step writes when it computes only some slices.
    fn writes_of_slices(&self, graph: &Graph, step: &Step, slices: &Range<u32>) -> Accesses {
        let result = graph.nodes[step.node].output;
        // Outside the pool these accesses are not used, and a graph output may be a view with different row numbers.
        if !matches!(self.storages[step.to].kind, StorageKind::Intermediate(_)) {
            return step.writes.clone();
        }
        let (layout, width) = (self.layout_of(graph, result), graph.shape(result).w as u32);
        // A tensor of several planes has its slices in each of them.
        let (planes, plane_texels) = (graph.tensors[result].storage.texels(), graph.shape(result).row_texels() as u32);
        let run = |plane: u32, slice: u32| {
            let start = layout.texel + plane * plane_texels + slice * layout.pitch;
            start..start + width
        };
        let runs = merged((0..planes as u32).flat_map(|plane| slices.clone().map(move |slice| run(plane, slice))));
        let mut rows: Vec<&Range<u32>> = step.writes.iter().map(|access| &access.rows).collect();
        rows.dedup();
        let access = |rows: &Range<u32>, texels: Range<u32>| Access { storage: step.to, rows: rows.clone(), texels };
        rows.into_iter().flat_map(|rows| runs.iter().map(move |run| access(rows, run.clone()))).collect()
    }

    /// Numbers the storages in the pool by the first step that touches them.
    fn numbered(mut self) -> Self {
        let outside = |storage: &Storage| !matches!(storage.kind, StorageKind::Intermediate(_));
        let mut spans: Vec<Option<(usize, usize)>> = vec![None; self.storages.len()];
        for (number, step) in self.steps.iter().enumerate() {
            for access in step.reads.iter().chain(&step.writes) {
                spans[access.storage].get_or_insert((number, number)).1 = number;
            }
            // A stripe of a pad may write nothing but still holds its storage.
            spans[step.to].get_or_insert((number, number)).1 = number;
        }
        let mut order: Vec<StorageId> = (0..self.storages.len()).collect();
        // Inputs and outputs come first in their present order; storages that no step touches come last.
        order.sort_by_key(|&id| match outside(&self.storages[id]) {
            true => (0, 0),
            false => (1, spans[id].map_or(usize::MAX, |(first, _)| first)),
        });
        let mut number_of = vec![0; order.len()];
        let mut storages = Vec::with_capacity(order.len());
        for (number, &id) in order.iter().enumerate() {
            number_of[id] = number;
            let mut storage = self.storages[id];
            if !outside(&storage) {
                storage.kind = StorageKind::Intermediate(self.records.len());
                let (first, last) = spans[id].unwrap_or_default();
                self.records.push(UsageRecord::new(first, last, storage.texels()));
            }
            storages.push(storage);
        }
        self.storages = storages;
        for storage in self.storage_of.iter_mut().flatten() {
            *storage = number_of[*storage];
        }
        for step in &mut self.steps {
            step.to = number_of[step.to];
            step.reads.iter_mut().chain(&mut step.writes).for_each(|access| access.storage = number_of[access.storage]);
        }
        self
    }
}
