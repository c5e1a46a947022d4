//! The schedule of a graph: steps in execution order, and a usage record for each intermediate tensor. Independent of
//! textures.
//!
//! Graph inputs, graph outputs and constants are not intermediates: each has a separate texture.

mod build;
mod downloads;
mod error;
mod streaming;
mod subtensor;
pub mod tiling;

use std::ops::Range;

pub use build::schedule;
pub use error::ScheduleError;
pub use streaming::{OperatorWeights, Streaming, stream};
pub use subtensor::SubtensorLayout;

use smallvec::SmallVec;
use texpool_ops::graph::{Graph, IdVec, NodeId, NodeSet, TensorId};
use texpool_plan::{RowStep, RowTable, RowUse, StepUse, TensorRows, UsageRecord};

/// Index of a storage in [`Schedule::storages`].
pub type StorageId = usize;

/// Memory that a storage occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StorageKind {
    /// The texture of this graph input (index in [`Graph::inputs`]).
    Input(usize),
    /// The texture of this graph output (index in [`Graph::outputs`]).
    Output(usize),
    /// The pool, as this usage record (index in [`Schedule::records`]).
    Intermediate(usize),
}

/// Contents of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contents {
    /// A tensor whose rows are placed. Views of it read and write the same texels, in their own numbering of rows.
    Tensor(TensorId),
    /// Weights of a node that are uploaded in every run, as one row: all of them, or those of some slices of its
    /// result.
    Weights(NodeId),
}

/// A unit of placement: the texels of a tensor and its views, or of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Kind of memory.
    pub kind: StorageKind,
    /// Contents.
    pub contents: Contents,
    /// Number of rows.
    pub rows: u32,
    /// Texels per row.
    pub row_texels: u32,
}

impl Storage {
    /// Returns the tensor whose rows are placed, or `None` for weights.
    pub const fn tensor(&self) -> Option<TensorId> {
        match self.contents {
            Contents::Tensor(tensor) => Some(tensor),
            Contents::Weights(_) => None,
        }
    }

    /// Returns the texels of the whole storage.
    pub const fn texels(&self) -> u64 {
        self.rows as u64 * self.row_texels as u64
    }
}

/// Rows of a storage that a step reads or writes. If the tensor is part of another one, only some texels of each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The storage.
    pub storage: StorageId,
    /// The rows.
    pub rows: Range<u32>,
    /// The texels in each row.
    pub texels: Range<u32>,
}

/// The accesses of a step. Nearly all steps have at most two reads and one write, so no memory is allocated for them:
/// searches build millions of steps.
pub type Accesses = SmallVec<[Access; 2]>;

/// Kind of work that a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Computes rows of the node's result.
    Compute,
    /// Writes the border of a pad whose operand already lies inside its result. Reads nothing.
    PadBorder,
    /// Uploads weights of the node, or rows of a graph input, for the steps after it.
    Upload,
    /// Downloads rows of a graph output that the steps before it have written.
    Download,
}

impl StepKind {
    /// Returns whether the step copies data between host and device, without a dispatch.
    pub const fn is_transfer(self) -> bool {
        matches!(self, Self::Upload | Self::Download)
    }
}

/// A node with the rows and slices of its result to compute, or whose weights to upload; or rows of a graph input or
/// output to transfer between host and device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Kind of work.
    pub kind: StepKind,
    /// The node.
    pub node: NodeId,
    /// Rows to compute: all rows, or those of one phase. For transfers, the rows of the graph input or output; empty
    /// for weights.
    pub rows: Range<u32>,
    /// Slices to compute: all of them, unless weights are uploaded in tiles.
    pub slices: Range<u32>,
    /// The accesses that it reads, each once, in operand order. The epilogue's addend and the weights come last.
    /// Constants are not listed, unless they are uploaded in every run.
    pub reads: Accesses,
    /// Storage that it writes, or downloads from.
    pub to: StorageId,
    /// The accesses that it writes in that storage.
    pub writes: Accesses,
}

/// Steps in execution order, and the storages they touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The steps.
    pub steps: Vec<Step>,
    /// The storages: first the graph's inputs, then its outputs, then intermediates in the order in which they are
    /// written.
    pub storages: Vec<Storage>,
    /// One record per intermediate storage, sorted by first step. Sizes are in texels.
    pub records: Vec<UsageRecord>,
    /// For each tensor, the storage that holds it. `None` for constants, and for tensors that no step touches.
    pub storage_of: IdVec<TensorId, Option<StorageId>>,
    /// For each tensor that is written in place, its position in the enclosing tensor.
    pub subtensors: IdVec<TensorId, Option<SubtensorLayout>>,
}

impl Schedule {
    /// Returns the record of a storage that lies in the pool.
    pub fn record(&self, storage: StorageId) -> Option<usize> {
        match self.storages.get(storage)?.kind {
            StorageKind::Intermediate(record) => Some(record),
            StorageKind::Input(_) | StorageKind::Output(_) => None,
        }
    }

    /// Returns the name of a storage: its tensor's name, or for weights the name of the result of their node.
    pub fn name_of(&self, graph: &Graph, storage: StorageId) -> String {
        match self.storages[storage].contents {
            Contents::Tensor(tensor) => graph.tensors[tensor].name.clone(),
            Contents::Weights(node) => format!("weights of {}", graph.tensors[graph.nodes[node].output].name),
        }
    }

    /// Returns whether a graph input or output lies in the pool. Such inputs are uploaded row by row, such outputs
    /// downloaded.
    pub fn is_pooled(&self, tensor: TensorId) -> bool {
        let pooled = |storage: StorageId| self.record(storage).is_some();
        self.storage_of.get(tensor).copied().flatten().is_some_and(pooled)
    }

    /// Returns the nodes whose weights are uploaded in every run.
    pub fn streamed(&self) -> NodeSet {
        let weights = |step: &&Step| {
            step.kind == StepKind::Upload && matches!(self.storages[step.to].contents, Contents::Weights(_))
        };
        self.steps.iter().filter(weights).map(|step| step.node).collect()
    }

    /// Returns the storage of the weights that a step reads, if they are uploaded in every run.
    pub fn weights_of(&self, step: &Step) -> Option<StorageId> {
        let weights = |read: &&Access| matches!(self.storages[read.storage].contents, Contents::Weights(_));
        step.reads.iter().find(weights).map(|read| read.storage)
    }

    /// For each step, returns the records that it reads and writes.
    pub fn uses(&self) -> Vec<StepUse> {
        self.steps.iter().map(|step| self.uses_of(step)).collect()
    }

    /// Returns the records that a step touches.
    fn uses_of(&self, step: &Step) -> StepUse {
        let written = if step.kind == StepKind::Download { None } else { self.record(step.to) };
        let mut uses = StepUse { reads: Vec::new(), writes: written.into_iter().collect() };
        for record in step.reads.iter().filter_map(|read| self.record(read.storage)) {
            if !uses.reads.contains(&record) {
                uses.reads.push(record);
            }
        }
        uses
    }

    /// Returns the rows of each record.
    pub fn tensors(&self) -> Vec<TensorRows> {
        let pool = self.storages.iter().filter(|storage| matches!(storage.kind, StorageKind::Intermediate(_)));
        pool.map(|storage| TensorRows { rows: storage.rows, row_texels: storage.row_texels }).collect()
    }

    /// For each record, returns whether a view divides it into rows of a different size, so that it must be placed
    /// whole.
    pub fn whole(&self, graph: &Graph) -> Vec<bool> {
        let mut whole = vec![false; self.records.len()];
        for (storage, viewed) in self.storages.iter().zip(self.viewed(graph)) {
            if let StorageKind::Intermediate(record) = storage.kind {
                whole[record] = viewed;
            }
        }
        whole
    }

    /// For each storage, returns whether a view divides it into rows of a different size.
    fn viewed(&self, graph: &Graph) -> Vec<bool> {
        let mut viewed = vec![false; self.storages.len()];
        for (tensor, &storage) in self.storage_of.iter_enumerated() {
            // A part also has fewer rows or texels than its storage, but its rows are rows of that storage.
            let (Some(storage), None) = (storage, self.subtensors[tensor]) else { continue };
            let (held, whole) = (&graph.tensors[tensor], &self.storages[storage]);
            viewed[storage] |=
                (held.shape.rows(), held.row_texels()) != (whole.rows as usize, whole.row_texels as usize);
        }
        viewed
    }

    /// For each step, returns the rows of the pool whose last use it is, as runs of adjacent rows per storage.
    pub fn last_uses(&self) -> Vec<Vec<(StorageId, Range<u32>)>> {
        let mut last: Vec<Vec<Option<usize>>> = self.storages.iter().map(|s| vec![None; s.rows as usize]).collect();
        for (number, step) in self.steps.iter().enumerate() {
            // Writes count as uses: a row that no step reads is dead once it is written.
            let touched = step.reads.iter().chain(&step.writes);
            for Access { storage, rows, .. } in touched.filter(|access| self.record(access.storage).is_some()) {
                last[*storage][rows.start as usize..rows.end as usize].fill(Some(number));
            }
        }
        let mut last_uses: Vec<Vec<(StorageId, Range<u32>)>> = vec![Vec::new(); self.steps.len()];
        for (storage, rows) in last.iter().enumerate().filter(|&(storage, _)| self.record(storage).is_some()) {
            for (row, step) in (0..).zip(rows) {
                let Some(step) = *step else { continue };
                match last_uses[step].last_mut() {
                    Some((other, run)) if *other == storage && run.end == row => run.end = row + 1,
                    _ => last_uses[step].push((storage, row..row + 1)),
                }
            }
        }
        last_uses
    }

    /// Returns the rows of the pool that each step reads and writes.
    pub fn row_steps(&self) -> Vec<RowStep> {
        let used = |access: &Access| {
            let record = self.record(access.storage)?;
            Some(RowUse { record, rows: access.rows.clone(), texels: access.texels.clone() })
        };
        let step = |step: &Step| RowStep {
            reads: step.reads.iter().filter_map(used).collect(),
            writes: step.writes.iter().filter_map(used).collect(),
        };
        self.steps.iter().map(step).collect()
    }

    /// Returns the row table of `tensor`, given the row table of its storage. A view's rows begin at the storage's
    /// first texel and have a size that differs from the storage's rows, so its storage must be placed whole. A part
    /// covers some of the outer tensor's rows, with an offset in each.
    ///
    /// Returns `None` if `tensor` has no storage, or is a view in a storage that is not whole.
    pub fn row_table(&self, graph: &Graph, tensor: TensorId, storage: &RowTable) -> Option<RowTable> {
        let rows = |tensor: TensorId| u32::try_from(graph.shape(tensor).rows()).ok();
        if let Some(inside) = self.subtensors.get(tensor)? {
            return Some(inside.row_table(&self.row_table(graph, inside.tensor, storage)?, rows(tensor)?));
        }
        let whole = self.storages.get((*self.storage_of.get(tensor)?)?)?;
        let (rows, row_texels) = (rows(tensor)?, u32::try_from(graph.tensors[tensor].row_texels()).ok()?);
        match *storage {
            _ if (rows, row_texels) == (whole.rows, whole.row_texels) => Some(storage.clone()),
            RowTable::Whole { base, .. } => Some(RowTable::Whole { base, rows, row_texels }),
            // A view needs adjacent rows to follow each other in memory.
            RowTable::Ring { .. } | RowTable::Scattered { .. } => None,
        }
    }
}
