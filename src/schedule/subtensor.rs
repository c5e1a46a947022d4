//! Tensors inside others: where the parts of concatenations lie, and what pads surround, that are written in place.

use std::ops::Range;

use super::{Access, Schedule, ScheduleError, StorageId};
use crate::{
    graph::{Graph, IdVec, Node, NodeId, NodeSet, SubtensorOffset, TensorId, may_be_in_place, subtensor_offsets},
    plan::RowTable,
};

/// Where a tensor lies that is a part of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubtensorLayout {
    /// The outermost tensor that it is a part of.
    pub tensor: TensorId,
    /// The row of that tensor that is its first.
    pub row: u32,
    /// The texel of each of those rows where its own begin.
    pub texel: u32,
    /// Texels from one of its slices to the next.
    pub pitch: u32,
}

impl SubtensorLayout {
    /// The row table of the part: `rows` of the rows of `table`, the outer tensor's.
    pub(super) fn row_table(&self, table: &RowTable, rows: u32) -> RowTable {
        let (first, texel) = (self.row, self.texel);
        match table {
            RowTable::Whole { base, row_texels, .. } => {
                RowTable::Whole { base: base + first * row_texels + texel, rows, row_texels: *row_texels }
            }
            // A ring holds row `r` at `r` modulo its size; counted from another row than the first it is no ring.
            RowTable::Ring { base, row_texels, ring, .. } if first == 0 => {
                RowTable::Ring { base: base + texel, rows, row_texels: *row_texels, ring: *ring }
            }
            RowTable::Ring { row_texels, .. } | RowTable::Scattered { row_texels, .. } => {
                let starts = table.starts().skip(first as usize).take(rows as usize);
                RowTable::Scattered { row_starts: starts.map(|start| start + texel).collect(), row_texels: *row_texels }
            }
        }
    }

    /// Where a part of the tensor that lies here begins.
    fn subtensor(&self, offset: SubtensorOffset) -> Option<Self> {
        let place = |from: u32, more: usize| from.checked_add(u32::try_from(more).ok()?);
        let along = offset.slice.checked_mul(self.pitch as usize)?.checked_add(offset.x)?;
        Some(Self { row: place(self.row, offset.row)?, texel: place(self.texel, along)?, ..*self })
    }
}

/// For each tensor where it lies, if it is a part; `in_place` are the concatenations and pads among the nodes.
pub(super) fn subtensors(
    graph: &Graph,
    in_place: &NodeSet,
) -> Result<IdVec<TensorId, Option<SubtensorLayout>>, ScheduleError> {
    let mut places: IdVec<_, Option<SubtensorLayout>> = IdVec::from_elem(None, &graph.tensors);
    let in_place: Vec<NodeId> = in_place.iter().filter(|&id| is_in_place(graph, id)).collect();
    // A whole comes after its parts in the graph, so in reverse its own place is settled before theirs.
    for node in in_place.into_iter().rev().map(|id| &graph.nodes[id]) {
        let fail = |why: String| ScheduleError::NotInPlace { node: node.op_index, why };
        let offsets = subtensor_offsets(graph, node).map_err(|why| fail(why.to_string()))?;
        let to = node.output;
        let most = || fail("it has more texels than 32 bits count".into());
        let pitch = u32::try_from(graph.shape(to).w).map_err(|_| most())?;
        let whole = places[to].unwrap_or(SubtensorLayout { tensor: to, row: 0, texel: 0, pitch });
        for (&part, offset) in node.inputs.iter().zip(offsets) {
            // A tensor lies in one place, nobody writes a constant there, and with no step there is nobody to compute
            // an epilogue.
            if graph.is_constant(part) || places[part].is_some() || !node.epilogue.is_empty() {
                return Err(fail(format!("`{}` cannot be computed there", graph.tensors[part].name)));
            }
            places[part] = Some(whole.subtensor(offset).ok_or_else(most)?);
        }
    }
    Ok(places)
}

/// Whether a node among those that need no step of their own is one whose parts are written in place.
pub(super) fn is_in_place(graph: &Graph, id: NodeId) -> bool {
    graph.nodes.get(id).is_some_and(|node| may_be_in_place(&node.op))
}

/// The texels of a tensor in its storage.
struct Region {
    storage: StorageId,
    rows: Range<u32>,
    /// The texels of each row that belong to it: a run, or one a slice.
    runs: Vec<Range<u32>>,
}

impl Region {
    /// Where a tensor lies that is looked at in the rows of its storage.
    fn new(schedule: &Schedule, graph: &Graph, tensor: TensorId, storage: StorageId) -> Self {
        let shape = graph.shape(tensor);
        let (rows, width, slices) = (shape.rows() as u32, shape.w as u32, shape.slices() as u32);
        let SubtensorLayout { row, texel, pitch, .. } = schedule.layout_of(graph, tensor);
        let slice = |slice: u32| texel + slice * pitch..texel + slice * pitch + width;
        Self { storage, rows: row..row + rows, runs: merged((0..slices).map(slice)) }
    }

    fn accesses(&self) -> Vec<Access> {
        let access =
            |texels: &Range<u32>| Access { storage: self.storage, rows: self.rows.clone(), texels: texels.clone() };
        self.runs.iter().map(access).collect()
    }

    /// What of it lies around `part`.
    fn around(&self, part: &Self) -> Vec<Access> {
        let beside = |run: &Range<u32>| {
            let mut begin = run.start;
            let mut left = Vec::new();
            for taken in part.runs.iter().filter(|taken| run.start <= taken.start && taken.end <= run.end) {
                left.push(begin..taken.start);
                begin = taken.end;
            }
            left.push(begin..run.end);
            left
        };
        let runs = merged(self.runs.iter().flat_map(beside));
        let here = |rows: Range<u32>, runs: &[Range<u32>]| Self { rows, runs: runs.to_vec(), ..*self };
        [
            here(self.rows.start..part.rows.start, &self.runs),
            here(part.rows.clone(), &runs),
            here(part.rows.end..self.rows.end, &self.runs),
        ]
        .iter()
        .filter(|region| !region.rows.is_empty())
        .flat_map(Self::accesses)
        .collect()
    }
}

/// Runs in order without the empty ones, neighbours put together.
pub(super) fn merged(runs: impl Iterator<Item = Range<u32>>) -> Vec<Range<u32>> {
    let mut made: Vec<Range<u32>> = Vec::new();
    for run in runs.filter(|run| !run.is_empty()) {
        match made.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => made.push(run),
        }
    }
    made
}

impl Schedule {
    /// Where a tensor lies in the outermost one that it is a part of, or in itself.
    pub fn layout_of(&self, graph: &Graph, tensor: TensorId) -> SubtensorLayout {
        let pitch = graph.shape(tensor).w as u32;
        self.subtensors[tensor].unwrap_or(SubtensorLayout { tensor, row: 0, texel: 0, pitch })
    }

    /// All rows of a tensor in its storage, or of the storage where a view sees others.
    pub(super) fn accesses(&self, graph: &Graph, tensor: TensorId, storage: StorageId) -> Vec<Access> {
        let held = &self.storages[storage];
        match self.subtensors[tensor] {
            None => vec![Access { storage, rows: 0..held.rows, texels: 0..held.row_texels }],
            Some(_) => Region::new(self, graph, tensor, storage).accesses(),
        }
    }

    /// What a pad writes whose operand lies inside its result.
    pub(super) fn pad_border(&self, graph: &Graph, node: &Node, storage: StorageId) -> Vec<Access> {
        let [part, whole] = [node.inputs[0], node.output].map(|tensor| Region::new(self, graph, tensor, storage));
        whole.around(&part)
    }
}
