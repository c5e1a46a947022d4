//! The steps of a schedule in the page's data, and the tensors that lie in its pool.

use std::collections::BTreeSet;

use serde::Serialize;
use texpool_compile::{
    CompiledModel,
    schedule::{Contents, StepKind, StorageKind},
};
use texpool_plan::RowUse;

use super::column::Column;
use crate::report::{CascadeReport, cascades};

/// Steps and records of a schedule.
#[derive(Debug, Default, Serialize)]
pub(super) struct ScheduleData {
    /// Index of its graph.
    graph: usize,
    steps: StepColumns,
    records: RecordColumns,
    /// For each tensor of the graph, one more than the index of the record that holds it, also as a part or a view; 0
    /// for tensors outside the pool.
    record_of_tensor: Column,
    /// The cascades.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cascades: Vec<CascadeReport>,
    /// For each node, one more than the index of its cascade, or 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    cascade_of_node: Option<Column>,
}

/// A row per step.
#[derive(Debug, Default, Serialize)]
struct StepColumns {
    count: usize,
    node: Column,
    /// 0 computes, 1 writes the border of a pad, 2 uploads, 3 downloads.
    kind: Column,
    /// One more than the index of the tensor that is written or transferred; 0 for weights of the node.
    tensor: Column,
    first_row: Column,
    rows: Column,
    reads: UseColumns,
    writes: UseColumns,
}

/// Rows of the pool that steps touch, step after step.
#[derive(Debug, Default, Serialize)]
struct UseColumns {
    /// Number of entries of each step.
    of_step: Column,
    record: Column,
    first_row: Column,
    rows: Column,
}

/// A row per tensor of the pool.
#[derive(Debug, Default, Serialize)]
struct RecordColumns {
    count: usize,
    /// One more than the index of the tensor; 0 for weights.
    tensor: Column,
    /// One more than the index of the node that writes the tensor or reads the weights; 0 for inputs.
    node: Column,
    rows: Column,
    row_texels: Column,
}

impl UseColumns {
    fn push(&mut self, uses: &[RowUse]) {
        self.of_step.push(uses.len() as u64);
        for used in uses {
            self.record.push(used.record as u64);
            self.first_row.push(used.rows.start.into());
            self.rows.push(used.rows.len() as u64);
        }
    }

    const fn len(&self) -> usize {
        self.of_step.len() + self.record.len() + self.first_row.len() + self.rows.len()
    }
}

impl ScheduleData {
    pub(super) fn new(graph: usize, compiled: &CompiledModel) -> Self {
        let schedule = compiled.schedule();
        let mut data = Self { graph, ..Self::default() };
        let tensor_of = |contents: Contents| match contents {
            Contents::Tensor(tensor) => 1 + tensor.index() as u64,
            Contents::Weights(_) => 0,
        };
        let row_steps = schedule.row_steps();
        for (step, touched) in schedule.steps.iter().zip(&row_steps) {
            let steps = &mut data.steps;
            steps.count += 1;
            steps.node.push(step.node.index() as u64);
            steps.kind.push(match step.kind {
                StepKind::Compute => 0,
                StepKind::PadBorder => 1,
                StepKind::Upload => 2,
                StepKind::Download => 3,
            });
            // A part that is written in place has the result of its node as its tensor, not the enclosing one.
            steps.tensor.push(match (step.kind, schedule.storages[step.to].contents) {
                (StepKind::Compute | StepKind::PadBorder, _) => {
                    1 + compiled.graph().nodes[step.node].output.index() as u64
                }
                (StepKind::Upload | StepKind::Download, contents) => tensor_of(contents),
            });
            steps.first_row.push(step.rows.start.into());
            steps.rows.push(step.rows.len() as u64);
            steps.reads.push(&touched.reads);
            steps.writes.push(&touched.writes);
        }
        let producer = |tensor| compiled.graph().nodes.iter().position(|node| node.output == tensor);
        for storage in &schedule.storages {
            if !matches!(storage.kind, StorageKind::Intermediate(_)) {
                continue;
            }
            let node = match storage.contents {
                Contents::Tensor(tensor) => producer(tensor),
                Contents::Weights(node) => Some(node.index()),
            };
            let records = &mut data.records;
            records.count += 1;
            records.tensor.push(tensor_of(storage.contents));
            records.node.push(node.map_or(0, |node| 1 + node as u64));
            records.rows.push(storage.rows.into());
            records.row_texels.push(storage.row_texels.into());
        }
        let records = schedule.storage_of.iter().map(|storage| storage.and_then(|storage| schedule.record(storage)));
        data.record_of_tensor = records.map(|record| record.map_or(0, |record| 1 + record as u64)).collect();
        data.add_cascades(compiled);
        data
    }

    /// Adds the cascades, if the operators that they number are those that have steps.
    fn add_cascades(&mut self, compiled: &CompiledModel) {
        let Some(tiled) = compiled.tiled() else { return };
        // Cascades number operators by the schedule of whole tensors, in which nodes have one step each, in order.
        let computes = compiled.schedule().steps.iter().filter(|step| !step.kind.is_transfer());
        let operators: BTreeSet<usize> = computes.map(|step| step.node.index()).collect();
        self.cascades = cascades(&tiled.cascades);
        if tiled.cascades.last().is_none_or(|last| last.operators.end != operators.len()) {
            return;
        }
        let mut of_node = vec![0; compiled.graph().nodes.len()];
        for (operator, &node) in operators.iter().enumerate() {
            let cascade = tiled.cascades.iter().position(|cascade| cascade.operators.contains(&operator));
            of_node[node] = cascade.map_or(0, |cascade| 1 + cascade as u64);
        }
        self.cascade_of_node = Some(of_node.into_iter().collect());
    }

    /// Returns the length of its columns as text.
    pub(super) const fn len(&self) -> usize {
        let StepColumns { node, kind, tensor, first_row, rows, reads, writes, .. } = &self.steps;
        let steps = node.len() + kind.len() + tensor.len() + first_row.len() + rows.len();
        let records = &self.records;
        let records = records.tensor.len() + records.node.len() + records.rows.len() + records.row_texels.len();
        steps + reads.len() + writes.len() + records
    }
}
