//! Tensors inside others: positions of the parts of concatenations and of the operands of pads that are written in
//! place.

use std::ops::Range;

use super::{Access, Accesses, Schedule, ScheduleError, StorageId};
use smallvec::smallvec;
use texpool_ops::graph::{
    Graph, IdVec, Node, NodeId, NodeSet, SubtensorOffset, TensorId, may_be_in_place, subtensor_offsets,
};
use texpool_plan::RowTable;

/// Position of a tensor inside an enclosing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubtensorLayout {
    /// Outermost enclosing tensor.
    pub tensor: TensorId,
    /// Row of that tensor where this one begins.
    pub row: u32,
    /// Texel where this tensor begins in each of those rows.
    pub texel: u32,
    /// Texels from one slice of a row to the next.
    pub pitch: u32,
}

impl SubtensorLayout {
    /// Returns the row table of the part, which has `rows` rows. `table` is the row table of the outer tensor.
    pub(super) fn row_table(&self, table: &RowTable, rows: u32) -> RowTable {
        let (first, texel) = (self.row, self.texel);
        match table {
            RowTable::Whole { base, row_texels, .. } => {
                RowTable::Whole { base: base + first * row_texels + texel, rows, row_texels: *row_texels }
            }
            // A ring holds row `r` at `r` modulo its size. A part that begins at another row than the first does not
            // fit that rule.
            RowTable::Ring { base, row_texels, ring, .. } if first == 0 => {
                RowTable::Ring { base: base + texel, rows, row_texels: *row_texels, ring: *ring }
            }
            RowTable::Ring { row_texels, .. } | RowTable::Scattered { row_texels, .. } => {
                let starts = table.starts().skip(first as usize).take(rows as usize);
                RowTable::Scattered { row_starts: starts.map(|start| start + texel).collect(), row_texels: *row_texels }
            }
        }
    }

    /// Returns the position of a part at `offset` inside this tensor; `None` on overflow.
    fn subtensor(&self, offset: SubtensorOffset) -> Option<Self> {
        let place = |from: u32, more: usize| from.checked_add(u32::try_from(more).ok()?);
        let along = offset.slice.checked_mul(self.pitch as usize)?.checked_add(offset.x)?;
        Some(Self { row: place(self.row, offset.row)?, texel: place(self.texel, along)?, ..*self })
    }
}

/// Returns for each tensor its position, if it is a part. `in_place` holds the concatenations and pads written in
/// place, among other nodes.
pub(super) fn subtensors(
    graph: &Graph,
    in_place: &NodeSet,
) -> Result<IdVec<TensorId, Option<SubtensorLayout>>, ScheduleError> {
    let mut places: IdVec<_, Option<SubtensorLayout>> = IdVec::from_elem(None, &graph.tensors);
    let in_place: Vec<NodeId> = in_place.iter().filter(|&id| is_in_place(graph, id)).collect();
    // The graph lists a whole after its parts, so in reverse order its position is settled before theirs.
    for node in in_place.into_iter().rev().map(|id| &graph.nodes[id]) {
        let fail = |why: String| ScheduleError::NotInPlace { node: node.op_index, why };
        let offsets = subtensor_offsets(graph, node).map_err(|why| fail(why.to_string()))?;
        let to = node.output;
        let most = || fail("it has more texels than 32 bits count".into());
        let pitch = u32::try_from(graph.shape(to).w).map_err(|_| most())?;
        let whole = places[to].unwrap_or(SubtensorLayout { tensor: to, row: 0, texel: 0, pitch });
        for (&part, offset) in node.inputs.iter().zip(offsets) {
            // A tensor has only one position, nothing writes a constant, and an epilogue would need a step to run in.
            if graph.is_constant(part) || places[part].is_some() || !node.epilogue.is_empty() {
                return Err(fail(format!("`{}` cannot be computed there", graph.tensors[part].name)));
            }
            places[part] = Some(whole.subtensor(offset).ok_or_else(most)?);
        }
    }
    Ok(places)
}

/// Returns whether a node without a step has parts that are written in place.
pub(super) fn is_in_place(graph: &Graph, id: NodeId) -> bool {
    graph.nodes.get(id).is_some_and(|node| may_be_in_place(&node.op))
}

/// The texels of a tensor in its storage.
struct Region {
    storage: StorageId,
    rows: Range<u32>,
    /// Texels in each row that belong to the tensor: one run, or one run per slice.
    runs: Vec<Range<u32>>,
}

impl Region {
    /// Returns the texels of a tensor that uses the row numbering of its storage.
    fn new(schedule: &Schedule, graph: &Graph, tensor: TensorId, storage: StorageId) -> Self {
        let shape = graph.shape(tensor);
        let (rows, width, slices) = (shape.rows() as u32, shape.w as u32, shape.slices() as u32);
        let SubtensorLayout { row, texel, pitch, .. } = schedule.layout_of(graph, tensor);
        let slice = |slice: u32| texel + slice * pitch..texel + slice * pitch + width;
        Self { storage, rows: row..row + rows, runs: merged((0..slices).map(slice)) }
    }

    fn accesses(&self) -> Accesses {
        let access =
            |texels: &Range<u32>| Access { storage: self.storage, rows: self.rows.clone(), texels: texels.clone() };
        self.runs.iter().map(access).collect()
    }

    /// Returns the texels of this region outside `part`.
    fn around(&self, part: &Self) -> Accesses {
        let beside = |run: &Range<u32>| {
            let mut begin = run.start;
            let mut gaps = Vec::new();
            for inner in part.runs.iter().filter(|inner| run.start <= inner.start && inner.end <= run.end) {
                gaps.push(begin..inner.start);
                begin = inner.end;
            }
            gaps.push(begin..run.end);
            gaps
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

/// Drops empty runs and joins adjacent ones. The runs must be in order.
pub(super) fn merged(runs: impl Iterator<Item = Range<u32>>) -> Vec<Range<u32>> {
    let mut joined: Vec<Range<u32>> = Vec::new();
    for run in runs.filter(|run| !run.is_empty()) {
        match joined.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => joined.push(run),
        }
    }
    joined
}

impl Schedule {
    /// Returns the position of a tensor in its outermost enclosing tensor, or in itself if it is not a part.
    pub fn layout_of(&self, graph: &Graph, tensor: TensorId) -> SubtensorLayout {
        let pitch = graph.shape(tensor).w as u32;
        self.subtensors[tensor].unwrap_or(SubtensorLayout { tensor, row: 0, texel: 0, pitch })
    }

    /// Returns all rows of a tensor in its storage. For a view these are all rows of the storage.
    pub(super) fn accesses(&self, graph: &Graph, tensor: TensorId, storage: StorageId) -> Accesses {
        let whole = &self.storages[storage];
        match self.subtensors[tensor] {
            None => smallvec![Access { storage, rows: 0..whole.rows, texels: 0..whole.row_texels }],
            Some(_) => Region::new(self, graph, tensor, storage).accesses(),
        }
    }

    /// Returns the texels that a pad writes when its operand lies inside its result.
    pub(super) fn pad_border(&self, graph: &Graph, node: &Node, storage: StorageId) -> Accesses {
        let [part, whole] = [node.inputs[0], node.output].map(|tensor| Region::new(self, graph, tensor, storage));
        whole.around(&part)
    }
}
