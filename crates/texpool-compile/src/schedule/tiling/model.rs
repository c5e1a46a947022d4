//! The model of a schedule that tiling works on: the operators, the rows that each of them needs, and the producers of
//! those rows.

use std::ops::Range;

use crate::schedule::{OperatorWeights, Schedule, Step, StepKind, StorageId, StorageKind, Streaming};
use texpool_ops::{
    graph::{Graph, IdVec, Node, TensorId},
    ops::{dispatch_rows, input_rows},
};

/// An operator that writes rows of a storage, or parts of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// The operator.
    pub operator: usize,
    /// Row of the storage where the operator's result begins.
    pub first: u32,
}

/// One operand of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandUse {
    /// Storage of the operand.
    pub storage: StorageId,
    /// Operators that write it. Empty for graph inputs; several entries if its parts are written in place.
    pub producers: Vec<Producer>,
    /// For each row of the result, the rows of the storage that it reads.
    pub input_rows: Vec<Range<u32>>,
}

impl Operator {
    /// Returns the rows of the storage that a stripe of the result occupies.
    pub fn written(&self, stripe: &Range<u32>) -> Range<u32> {
        self.first + stripe.start..self.first + stripe.end
    }

    /// Returns the operand in a storage. Takes logarithmic time, because a concatenation has thousands of operands.
    pub(super) fn operand_in(&self, storage: StorageId) -> Option<&OperandUse> {
        let position = self.by_storage.binary_search_by_key(&storage, |&read| self.reads[read].storage).ok()?;
        Some(&self.reads[self.by_storage[position]])
    }

    /// Returns the number of dispatches needed for a stripe of the result.
    pub fn dispatches(&self, stripe: &Range<u32>) -> u64 {
        dispatches_of(&self.dispatches, stripe)
    }
}

impl OperandUse {
    /// Returns the rows that a stripe of the result reads: the range from the first to the last row that any of its
    /// rows needs.
    pub fn rows(&self, stripe: &Range<u32>) -> Range<u32> {
        let needed = self.input_rows[stripe.start as usize..stripe.end as usize].iter().filter(|rows| !rows.is_empty());
        let hull = needed.fold(None, |hull: Option<Range<u32>>, rows| {
            Some(hull.map_or(rows.clone(), |hull| hull.start.min(rows.start)..hull.end.max(rows.end)))
        });
        hull.unwrap_or(0..0)
    }
}

/// An operator of the network: a step of the schedule before it is cut into stripes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Rows of its result.
    pub rows: u32,
    /// Storage of the result.
    pub writes: StorageId,
    /// Row of the storage where the result begins.
    pub first: u32,
    /// The operands, with one entry per storage.
    pub reads: Vec<OperandUse>,
    /// The indices of `reads` in the order of their storages.
    by_storage: Vec<usize>,
    /// For each dispatch, the rows of the result that it writes, fully or in part.
    pub dispatches: Vec<Range<u32>>,
    /// Rows of the result that need no work.
    pub idle: Range<u32>,
    /// The weights that are uploaded in every run.
    pub weights: OperatorWeights,
}

/// Size and live range of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageInfo {
    /// Texels per row; 0 if the storage is outside the pool.
    pub row_texels: u64,
    /// Number of rows, in the row numbering of the operators that write the storage.
    pub rows: u32,
    /// Set if the storage is placed whole: all its rows stay alive as long as any of them.
    pub whole: bool,
    /// Last operator that reads the storage, if any. For a graph output that is downloaded from the pool, the last
    /// operator that reads or writes it.
    pub last_reader: Option<usize>,
    /// Set if the storage leaves the graph as an output.
    pub output: bool,
    /// First operator that writes part of it.
    pub producer: Option<usize>,
    /// Set if the storage is a graph input that is uploaded into the pool, each row before the first stripe that reads
    /// it.
    pub uploaded: bool,
}

/// A network prepared for tiling: operators in execution order, and the storages between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowDependencies {
    /// One entry per operator, in the order of the schedule's steps.
    pub operators: Vec<Operator>,
    /// One entry per storage of the schedule.
    pub storages: Vec<StorageInfo>,
}

impl RowDependencies {
    /// Creates the model of a schedule in which every step computes all rows of its result.
    pub fn new(graph: &Graph, schedule: &Schedule) -> Self {
        let whole = schedule.whole(graph);
        let mut storages: Vec<StorageInfo> = schedule
            .storages
            .iter()
            .map(|storage| {
                let (pool, whole) = match storage.kind {
                    StorageKind::Intermediate(record) => (true, whole[record]),
                    StorageKind::Input(_) | StorageKind::Output(_) => (false, false),
                };
                StorageInfo {
                    row_texels: if pool { u64::from(storage.row_texels) } else { 0 },
                    rows: storage.rows,
                    whole,
                    last_reader: None,
                    output: matches!(storage.kind, StorageKind::Output(_)),
                    producer: None,
                    uploaded: false,
                }
            })
            .collect();
        let producers = producers(graph, schedule);
        let mut operators = Vec::with_capacity(schedule.steps.len());
        for (index, step) in schedule.steps.iter().enumerate() {
            let node = &graph.nodes[step.node];
            let mut reads: Vec<OperandUse> = Vec::new();
            // One more than the inputs: the last operand is the addend of the epilogue.
            let operands = if step.kind == StepKind::PadBorder { 0 } else { node.inputs.len() + 1 };
            for operand in 0..operands {
                let Some(operand_rows) = input_rows(graph, node, operand) else { continue };
                let tensor = node.inputs.get(operand).copied().or(node.epilogue.add);
                let Some((tensor, storage)) = tensor.and_then(|t| Some((t, schedule.storage_of[t]?))) else { continue };
                let info = &mut storages[storage];
                info.last_reader = Some(index);
                let shape = graph.shape(tensor);
                let inside = schedule.subtensors[tensor];
                let alike = inside.is_some()
                    || shape.rows() == info.rows as usize
                        && graph.tensors[tensor].row_texels() == schedule.storages[storage].row_texels as usize;
                let first = schedule.layout_of(graph, tensor).row;
                // With a view in between, the writer and the reader number rows differently, so each result row needs
                // all rows.
                let input_rows = match !alike || info.whole && inside.is_none() {
                    true => vec![0..info.rows; operand_rows.len()],
                    false => operand_rows.into_iter().map(|rows| first + rows.start..first + rows.end).collect(),
                };
                let producers = &producers[tensor];
                match reads.iter_mut().find(|read| read.storage == storage) {
                    Some(read) => read.join(&input_rows, producers),
                    None => reads.push(OperandUse { storage, producers: producers.clone(), input_rows }),
                }
            }
            let dispatches = dispatch_rows(graph, node);
            let writes = step.to;
            let written = &mut storages[writes];
            written.producer = written.producer.or(Some(index));
            let first = first_row(graph, schedule, node);
            // A graph output may be a view of the tensor that is written, and may have fewer rows than the writer
            // writes.
            written.rows = written.rows.max(first + step.rows.end);
            let idle = idle(step, first);
            let weights = OperatorWeights::default();
            let mut by_storage: Vec<usize> = (0..reads.len()).collect();
            by_storage.sort_unstable_by_key(|&read| reads[read].storage);
            let rows = step.rows.end;
            operators.push(Operator { rows, writes, first, reads, by_storage, dispatches, idle, weights });
        }
        Self { operators, storages }
    }

    /// Adds uploads and downloads to the model, for the weights, inputs or outputs that `streaming` moves through the
    /// pool. `schedule` must be the schedule of this model.
    #[must_use]
    pub fn with_streaming(mut self, graph: &Graph, schedule: &Schedule, streaming: &Streaming) -> Self {
        for (info, storage) in self.storages.iter_mut().zip(&schedule.storages) {
            if streaming.is_uploaded(graph, storage) {
                (info.row_texels, info.uploaded) = (u64::from(storage.row_texels), true);
            }
        }
        for storage in streaming.downloaded(graph, schedule) {
            let info = &mut self.storages[storage];
            info.row_texels = u64::from(schedule.storages[storage].row_texels);
            let last_writer = schedule.steps.iter().rposition(|step| step.to == storage);
            info.last_reader = info.last_reader.max(last_writer);
        }
        for (operator, step) in self.operators.iter_mut().zip(&schedule.steps) {
            if step.kind == StepKind::Compute {
                operator.weights = streaming.of(step.node);
            }
        }
        self
    }

    /// Returns whether the result of `operator` is still needed after operator `end - 1`.
    pub(super) fn outlives(&self, operator: usize, end: usize) -> bool {
        let info = &self.storages[self.operators[operator].writes];
        info.output || info.last_reader.is_none_or(|reader| reader >= end)
    }
}

impl OperandUse {
    /// Merges the rows needed by a second operand in the same storage into this one.
    fn join(&mut self, input_rows: &[Range<u32>], producers: &[Producer]) {
        for (rows, more) in self.input_rows.iter_mut().zip(input_rows) {
            *rows = match (rows.start >= rows.end, more.start >= more.end) {
                (true, _) => more.clone(),
                (_, true) => rows.clone(),
                _ => rows.start.min(more.start)..rows.end.max(more.end),
            };
        }
        self.producers.extend(producers);
        self.producers.sort_unstable_by_key(|producer| producer.operator);
        self.producers.dedup();
    }
}

/// For each tensor, the operators that write it.
fn producers(graph: &Graph, schedule: &Schedule) -> IdVec<TensorId, Vec<Producer>> {
    let mut producers_of: IdVec<_, Vec<Producer>> = IdVec::from_elem(Vec::new(), &graph.tensors);
    let mut steps = schedule.steps.iter().enumerate().peekable();
    for (id, node) in graph.nodes.iter_enumerated() {
        // Steps are in node order and none is cut into stripes yet, so one pass over both is enough.
        let step = steps.next_if(|(_, step)| step.node == id);
        let parts = || node.inputs.iter().flat_map(|&operand| producers_of[operand].iter().copied());
        let own = step.map(|(operator, _)| Producer { operator, first: first_row(graph, schedule, node) });
        let producers = match step {
            Some((_, step)) if step.kind != StepKind::PadBorder => own.into_iter().collect(),
            // Views and nodes written in place have no step (a pad written in place has one, which writes only the
            // border). Their rows come from the producers of their operands.
            _ => parts().chain(own).collect(),
        };
        producers_of[node.output] = producers;
    }
    producers_of
}

/// Returns the row of the storage where a node's result begins.
fn first_row(graph: &Graph, schedule: &Schedule, node: &Node) -> u32 {
    schedule.layout_of(graph, node.output).row
}

/// Returns the rows of a step's result in which the step writes nothing. `first` is the row of the storage where the
/// result begins. These rows exist in a pad without side borders: they lie between the top and the bottom border.
fn idle(step: &Step, first: u32) -> Range<u32> {
    let mut written: Vec<&Range<u32>> = step.writes.iter().map(|access| &access.rows).collect();
    written.sort_unstable_by_key(|rows| (rows.start, rows.end));
    let mut end = first;
    for rows in written {
        if rows.start > end {
            return end - first..rows.start - first;
        }
        end = end.max(rows.end);
    }
    end - first..step.rows.end
}

/// Returns the number of dispatches for a stripe of rows of a node whose [`dispatch_rows`] are `dispatches`.
pub fn dispatches_of(dispatches: &[Range<u32>], stripe: &Range<u32>) -> u64 {
    match dispatches {
        [_] => 1,
        several => several.iter().filter(|rows| rows.start < stripe.end && stripe.start < rows.end).count() as u64,
    }
}
