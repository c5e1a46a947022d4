//! The schedule: a graph to ordered steps, and a usage record for each intermediate tensor. Knows no texture.
//!
//! Graph inputs, graph outputs and constants are not intermediates: they live in textures of their own.

mod build;
mod downloads;
mod error;
pub mod phases;
mod streaming;
mod subtensor;

use std::ops::Range;

pub use build::schedule;
pub use error::ScheduleError;
pub use streaming::{OperatorWeights, Streaming, stream};
pub use subtensor::SubtensorLayout;

use crate::{
    graph::{Graph, IdVec, NodeId, NodeSet, TensorId},
    plan::{RowStep, RowTable, RowUse, StepUse, TensorRows, UsageRecord},
};

/// Index of a storage in [`Schedule::storages`].
pub type StorageId = usize;

/// Which memory a storage takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StorageKind {
    /// The texture of this graph input (index in [`Graph::inputs`]).
    Input(usize),
    /// The texture of this graph output (index in [`Graph::outputs`]).
    Output(usize),
    /// The pool, as this usage record (index in [`Schedule::records`]).
    Intermediate(usize),
}

/// What lies in a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contents {
    /// A tensor whose rows are placed; views of it read and write the same texels as rows of their own.
    Tensor(TensorId),
    /// Weights of a node that are uploaded in every run, all or those of some slices of its result: one row.
    Weights(NodeId),
}

/// What is placed: texels that one tensor, or a tensor and its views, live in; or weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Which memory.
    pub kind: StorageKind,
    /// What lies there.
    pub contents: Contents,
    /// Its rows.
    pub rows: u32,
    /// Texels of one of its rows.
    pub row_texels: u32,
}

impl Storage {
    /// The tensor whose rows are placed; none for weights.
    pub const fn tensor(&self) -> Option<TensorId> {
        match self.contents {
            Contents::Tensor(tensor) => Some(tensor),
            Contents::Weights(_) => None,
        }
    }

    /// Texels of the whole storage.
    pub const fn texels(&self) -> u64 {
        self.rows as u64 * self.row_texels as u64
    }
}

/// Rows of a storage that a step reads or writes, or the part of each that a tensor inside it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The storage.
    pub storage: StorageId,
    /// Its rows.
    pub rows: Range<u32>,
    /// The texels of each row.
    pub texels: Range<u32>,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// It computes rows of its node's result.
    Compute,
    /// Its node is a pad whose operand lies inside its result already: it reads nothing and writes the border.
    PadBorder,
    /// It uploads weights of its node, or rows of a graph input, which the steps behind it read.
    Upload,
    /// It downloads rows of a graph output, which the steps before it have written.
    Download,
}

impl StepKind {
    /// Whether it moves values between host and device, by copies, and has no dispatch.
    pub const fn is_transfer(self) -> bool {
        matches!(self, Self::Upload | Self::Download)
    }
}

/// A node, and the rows and slices of its result that are computed, or whose weights are uploaded; or rows of a graph
/// input or output that cross between host and device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// The node.
    pub node: NodeId,
    /// Rows computed: all of them, or those of one phase. Rows uploaded of a graph input or downloaded of an output, and
    /// none of weights.
    pub rows: Range<u32>,
    /// Slices computed: all of them, unless weights are uploaded in tiles.
    pub slices: Range<u32>,
    /// What it reads, each part of a storage once, in operand order, the epilogue's addend and then weights last.
    /// Constants are no storage, unless they are uploaded in every run.
    pub reads: Vec<Access>,
    /// The storage it writes, or downloads from.
    pub to: StorageId,
    /// What it writes there.
    pub writes: Vec<Access>,
}

/// Steps in execution order, and what they touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The dispatches.
    pub steps: Vec<Step>,
    /// What is placed: first the graph's inputs, then its outputs, then intermediates in the order they are written.
    pub storages: Vec<Storage>,
    /// One record an intermediate storage, sorted by first step; sizes in texels.
    pub records: Vec<UsageRecord>,
    /// For each step, the records it touches.
    pub uses: Vec<StepUse>,
    /// For each tensor the storage it lives in; none for constants and tensors that no step touches.
    pub storage_of: IdVec<TensorId, Option<StorageId>>,
    /// For each tensor the one that it is a part of, if it is written in place.
    pub subtensors: IdVec<TensorId, Option<SubtensorLayout>>,
}

impl Schedule {
    /// The record of a storage that lives in the pool.
    pub fn record(&self, storage: StorageId) -> Option<usize> {
        match self.storages.get(storage)?.kind {
            StorageKind::Intermediate(record) => Some(record),
            StorageKind::Input(_) | StorageKind::Output(_) => None,
        }
    }

    /// What a storage is called: by its tensor, or by the result of the node whose weights it has.
    pub fn name_of(&self, graph: &Graph, storage: StorageId) -> String {
        match self.storages[storage].contents {
            Contents::Tensor(tensor) => graph.tensors[tensor].name.clone(),
            Contents::Weights(node) => format!("weights of {}", graph.tensors[graph.nodes[node].output].name),
        }
    }

    /// Whether a graph input or output lies in the pool: an input is uploaded there row by row, an output downloaded.
    pub fn is_pooled(&self, tensor: TensorId) -> bool {
        let pooled = |storage: StorageId| self.record(storage).is_some();
        self.storage_of.get(tensor).copied().flatten().is_some_and(pooled)
    }

    /// The nodes whose weights are uploaded in every run.
    pub fn streamed(&self) -> NodeSet {
        let weights = |step: &&Step| {
            step.kind == StepKind::Upload && matches!(self.storages[step.to].contents, Contents::Weights(_))
        };
        self.steps.iter().filter(weights).map(|step| step.node).collect()
    }

    /// The storage of the weights that a step reads, where they are uploaded in every run.
    pub fn weights_of(&self, step: &Step) -> Option<StorageId> {
        let weights = |read: &&Access| matches!(self.storages[read.storage].contents, Contents::Weights(_));
        step.reads.iter().find(weights).map(|read| read.storage)
    }

    /// The records that a step touches.
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

    /// Rows of each record.
    pub fn tensors(&self) -> Vec<TensorRows> {
        let pool = self.storages.iter().filter(|storage| matches!(storage.kind, StorageKind::Intermediate(_)));
        pool.map(|storage| TensorRows { rows: storage.rows, row_texels: storage.row_texels }).collect()
    }

    /// For each record, whether a view looks at it in other rows than its own, so that it must lie whole.
    pub fn whole(&self, graph: &Graph) -> Vec<bool> {
        let mut whole = vec![false; self.records.len()];
        for (storage, viewed) in self.storages.iter().zip(self.viewed(graph)) {
            if let StorageKind::Intermediate(record) = storage.kind {
                whole[record] = viewed;
            }
        }
        whole
    }

    /// For each storage, whether a view looks at it in other rows than its own.
    fn viewed(&self, graph: &Graph) -> Vec<bool> {
        let mut viewed = vec![false; self.storages.len()];
        for (tensor, &storage) in self.storage_of.iter_enumerated() {
            // A part has fewer rows or texels than its storage as well, but its rows are rows of the storage.
            let (Some(storage), None) = (storage, self.subtensors[tensor]) else { continue };
            let (shape, held) = (graph.shape(tensor), &self.storages[storage]);
            viewed[storage] |= (shape.rows(), shape.row_texels()) != (held.rows as usize, held.row_texels as usize);
        }
        viewed
    }

    /// For each step, the rows of the pool that nothing reads after it: runs of neighbours, by storage.
    pub fn last_uses(&self) -> Vec<Vec<(StorageId, Range<u32>)>> {
        let mut last: Vec<Vec<Option<usize>>> = self.storages.iter().map(|s| vec![None; s.rows as usize]).collect();
        for (number, step) in self.steps.iter().enumerate() {
            // Writes count, too: a row that nobody reads is done with once it is written.
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

    /// What each step does to the rows of the pool.
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

    /// The row table of `tensor`, given that of the storage it lives in. A view has rows of its own, which start at the
    /// storage's first texel; its storage must then be whole. A part has some of the outer tensor's rows, and starts
    /// somewhere in each.
    ///
    /// `None` if `tensor` lives in no storage, or is a view in a storage that is not whole.
    pub fn row_table(&self, graph: &Graph, tensor: TensorId, storage: &RowTable) -> Option<RowTable> {
        let rows = |tensor: TensorId| u32::try_from(graph.shape(tensor).rows()).ok();
        if let Some(inside) = self.subtensors.get(tensor)? {
            return Some(inside.row_table(&self.row_table(graph, inside.tensor, storage)?, rows(tensor)?));
        }
        let held = self.storages.get((*self.storage_of.get(tensor)?)?)?;
        let (rows, row_texels) = (rows(tensor)?, u32::try_from(graph.shape(tensor).row_texels()).ok()?);
        match *storage {
            _ if (rows, row_texels) == (held.rows, held.row_texels) => Some(storage.clone()),
            RowTable::Whole { base, .. } => Some(RowTable::Whole { base, rows, row_texels }),
            // A view counts on the texels of neighbouring rows following each other.
            RowTable::Ring { .. } | RowTable::Scattered { .. } => None,
        }
    }
}
