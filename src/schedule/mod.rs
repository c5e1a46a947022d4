//! The schedule: a graph to ordered steps, and a usage record for each intermediate tensor. Knows no texture.
//!
//! Graph inputs, graph outputs and constants are not intermediates: they live in textures of their own.

mod build;
mod error;

use std::ops::Range;

pub use build::schedule;
pub use error::ScheduleError;

use crate::{
    graph::{Graph, NodeId, TensorId},
    plan::{RowTable, StepUse, UsageRecord},
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

/// What is placed: texels that one tensor, or a tensor and its views, live in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Which memory.
    pub kind: StorageKind,
    /// The tensor whose rows are placed; views of it read and write the same texels as rows of their own.
    pub tensor: TensorId,
    /// Rows of that tensor.
    pub rows: u32,
    /// Texels of one of its rows.
    pub row_texels: u32,
}

impl Storage {
    /// Texels of the whole storage.
    pub const fn texels(&self) -> u64 {
        self.rows as u64 * self.row_texels as u64
    }
}

/// One dispatch: a node, and the rows of its result that it computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The node.
    pub node: NodeId,
    /// Rows computed; here always all of them.
    pub rows: Range<u32>,
    /// What it reads, each storage once, in operand order, the tail's addend last. Constants are no storage.
    pub reads: Vec<StorageId>,
    /// What it writes.
    pub writes: StorageId,
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
    pub storage_of: Vec<Option<StorageId>>,
}

impl Schedule {
    /// The row table of `tensor`, given that of the storage it lives in. A view has rows of its own, which start at
    /// the storage's first texel; its storage must then be whole.
    ///
    /// `None` if `tensor` lives in no storage, or is a view in a storage that is not whole.
    pub fn row_table(&self, graph: &Graph, tensor: TensorId, storage: &RowTable) -> Option<RowTable> {
        let held = self.storages.get((*self.storage_of.get(tensor)?)?)?;
        let shape = graph.shape(tensor);
        let (rows, row_texels) = (u32::try_from(shape.rows()).ok()?, u32::try_from(shape.row_texels()).ok()?);
        match *storage {
            _ if (rows, row_texels) == (held.rows, held.row_texels) => Some(storage.clone()),
            RowTable::Whole { base, .. } => Some(RowTable::Whole { base, rows, row_texels }),
            RowTable::Ring { .. } | RowTable::Scattered { .. } => None,
        }
    }
}
