//! A schedule as phases see it: operators, what they need row by row, and who makes it.

use std::ops::Range;

use crate::{
    graph::{Graph, IdVec, Node, TensorId},
    ops::{dispatch_rows, input_rows},
    schedule::{OperatorWeights, Schedule, Step, StepKind, StorageId, StorageKind, Streaming},
};

/// An operator that writes rows of a storage, or a part of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// The operator.
    pub operator: usize,
    /// The storage's row that is the first of its result.
    pub first: u32,
}

/// One operand of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandUse {
    /// Where the operand lives.
    pub storage: StorageId,
    /// The operators that write it; none for the graph's inputs, several where parts are written in place.
    pub producers: Vec<Producer>,
    /// For each row of the result, the rows of the storage that are read.
    pub input_rows: Vec<Range<u32>>,
}

impl Operator {
    /// Where a band of its rows lies in its storage.
    pub fn written(&self, band: &Range<u32>) -> Range<u32> {
        self.first + band.start..self.first + band.end
    }

    /// How many dispatches a band of its rows takes.
    pub fn dispatches(&self, band: &Range<u32>) -> u64 {
        dispatches_of(&self.dispatches, band)
    }
}

impl OperandUse {
    /// The rows that a band of the result reads: from the first to the last that any of its rows needs.
    pub fn rows(&self, band: &Range<u32>) -> Range<u32> {
        let needed = self.input_rows[band.start as usize..band.end as usize].iter().filter(|rows| !rows.is_empty());
        let hull = needed.fold(None, |hull: Option<Range<u32>>, rows| {
            Some(hull.map_or(rows.clone(), |hull| hull.start.min(rows.start)..hull.end.max(rows.end)))
        });
        hull.unwrap_or(0..0)
    }
}

/// One operator of the network: a step of the schedule before it is cut into phases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Rows of its result.
    pub rows: u32,
    /// Where its result lives.
    pub writes: StorageId,
    /// The storage's row that is the first of its result.
    pub first: u32,
    /// What it reads, each storage once.
    pub reads: Vec<OperandUse>,
    /// For each of its dispatches the rows of its result that it writes some of.
    pub dispatches: Vec<Range<u32>>,
    /// Rows of its result for which it has nothing to do.
    pub idle: Range<u32>,
    /// Its weights, as far as they are uploaded in every run.
    pub weights: OperatorWeights,
}

/// What is kept of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageInfo {
    /// Texels of a row; none where it is no part of the pool.
    pub row_texels: u64,
    /// Rows, as who writes it counts them.
    pub rows: u32,
    /// Whether all its rows live as long as any.
    pub whole: bool,
    /// The last operator that reads it, where one does; of a graph output that is downloaded out of the pool, that reads
    /// or writes it.
    pub last_reader: Option<usize>,
    /// Whether it goes out of the graph.
    pub output: bool,
    /// The first operator that writes some of it.
    pub producer: Option<usize>,
    /// Whether it is an input that is uploaded into the pool, each row before the first band that reads it.
    pub uploaded: bool,
}

/// A network in phases: operators in order, and the storages between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowDependencies {
    /// One an operator, in the order of the schedule's steps.
    pub operators: Vec<Operator>,
    /// One a storage of the schedule.
    pub storages: Vec<StorageInfo>,
}

impl RowDependencies {
    /// The model of a schedule whose every step computes all rows of its result.
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
            // One more than the inputs: behind them comes what the epilogue adds.
            let operands = if step.kind == StepKind::PadBorder { 0 } else { node.inputs.len() + 1 };
            for operand in 0..operands {
                let Some(found) = input_rows(graph, node, operand) else { continue };
                let tensor = node.inputs.get(operand).copied().or(node.epilogue.add);
                let Some((tensor, storage)) = tensor.and_then(|t| Some((t, schedule.storage_of[t]?))) else { continue };
                let held = &mut storages[storage];
                held.last_reader = Some(index);
                let shape = graph.shape(tensor);
                let inside = schedule.subtensors[tensor];
                let alike = inside.is_some()
                    || shape.rows() == held.rows as usize
                        && shape.row_texels() == schedule.storages[storage].row_texels as usize;
                let first = schedule.layout_of(graph, tensor).row;
                // Where a view is involved, who writes and who reads count rows differently: each needs all.
                let input_rows = match !alike || held.whole && inside.is_none() {
                    true => vec![0..held.rows; found.len()],
                    false => found.into_iter().map(|rows| first + rows.start..first + rows.end).collect(),
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
            // A graph output may be a view of what is written, with fewer rows than are written one by one.
            written.rows = written.rows.max(first + step.rows.end);
            let idle = idle(step, first);
            let weights = OperatorWeights::default();
            operators.push(Operator { rows: step.rows.end, writes, first, reads, dispatches, idle, weights });
        }
        Self { operators, storages }
    }

    /// The same where weights, inputs or outputs go through the pool, of the schedule that it is the model of.
    #[must_use]
    pub fn with_streaming(mut self, graph: &Graph, schedule: &Schedule, streaming: &Streaming) -> Self {
        for (held, storage) in self.storages.iter_mut().zip(&schedule.storages) {
            if streaming.is_uploaded(graph, storage) {
                (held.row_texels, held.uploaded) = (u64::from(storage.row_texels), true);
            }
        }
        for storage in streaming.downloaded(graph, schedule) {
            let held = &mut self.storages[storage];
            held.row_texels = u64::from(schedule.storages[storage].row_texels);
            let last_writer = schedule.steps.iter().rposition(|step| step.to == storage);
            held.last_reader = held.last_reader.max(last_writer);
        }
        for (operator, step) in self.operators.iter_mut().zip(&schedule.steps) {
            if step.kind == StepKind::Compute {
                operator.weights = streaming.of(step.node);
            }
        }
        self
    }

    /// Whether what `operator` writes is still wanted after operator `end - 1`.
    pub(super) fn outlives(&self, operator: usize, end: usize) -> bool {
        let held = &self.storages[self.operators[operator].writes];
        held.output || held.last_reader.is_none_or(|reader| reader >= end)
    }
}

impl OperandUse {
    /// Widens it by a second operand in the same storage.
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

/// For each tensor the operators that write it.
fn producers(graph: &Graph, schedule: &Schedule) -> IdVec<TensorId, Vec<Producer>> {
    let mut made: IdVec<_, Vec<Producer>> = IdVec::from_elem(Vec::new(), &graph.tensors);
    let mut steps = schedule.steps.iter().enumerate().peekable();
    for (id, node) in graph.nodes.iter_enumerated() {
        // Steps are in the order of the nodes and none is cut into phases yet, so both are gone through once.
        let step = steps.next_if(|(_, step)| step.node == id);
        let parts = || node.inputs.iter().flat_map(|&operand| made[operand].iter().copied());
        let own = step.map(|(operator, _)| Producer { operator, first: first_row(graph, schedule, node) });
        let producers = match step {
            Some((_, step)) if step.kind != StepKind::PadBorder => own.into_iter().collect(),
            // A view, and what is written in place, has no step of its own (a pad's writes the border alone): its rows
            // are made by who makes its operands.
            _ => parts().chain(own).collect(),
        };
        made[node.output] = producers;
    }
    made
}

/// The storage's row that is the first of a node's result.
fn first_row(graph: &Graph, schedule: &Schedule, node: &Node) -> u32 {
    schedule.layout_of(graph, node.output).row
}

/// The rows of a step's result, whose first is row `first` of the storage, that it writes nothing of: those between the
/// borders above and below, where it has none beside.
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

/// How many dispatches a band of rows takes of a node whose [`dispatch_rows`] are these.
pub fn dispatches_of(dispatches: &[Range<u32>], band: &Range<u32>) -> u64 {
    match dispatches {
        [_] => 1,
        several => several.iter().filter(|rows| rows.start < band.end && band.start < rows.end).count() as u64,
    }
}
