//! Tensors inside others: where the parts of a concatenation lie that are written in place.

use super::ScheduleError;
use crate::{
    graph::{Graph, NodeId, Op, TensorId},
    plan::RowTable,
    rewrite::{Views, corners},
};

/// Where a tensor lies that is a part of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// The outermost tensor that it is a part of.
    pub tensor: TensorId,
    /// The row of that tensor that is its first.
    pub row: u32,
    /// The texel of each of those rows where its own begin.
    pub texel: u32,
}

impl Inside {
    /// The row table of the part: `rows` of the rows of `table`, the outer tensor's.
    pub(super) fn table(&self, table: &RowTable, rows: u32) -> RowTable {
        let (first, texel) = (self.row, self.texel);
        match table {
            RowTable::Whole { base, row_texels, .. } => {
                RowTable::Whole { base: base + first * row_texels + texel, rows, row_texels: *row_texels }
            }
            RowTable::Ring { base, row_texels, ring, .. } if first == 0 => {
                RowTable::Ring { base: base + texel, rows, row_texels: *row_texels, ring: *ring }
            }
            RowTable::Ring { row_texels, .. } | RowTable::Scattered { row_texels, .. } => {
                let starts = table.starts().skip(first as usize).take(rows as usize);
                RowTable::Scattered { row_starts: starts.map(|start| start + texel).collect(), row_texels: *row_texels }
            }
        }
    }
}

/// For each tensor where it lies, if it is a part; `joins` are the concatenations among the nodes that need no step.
pub(super) fn inside(graph: &Graph, joins: &Views) -> Result<Vec<Option<Inside>>, ScheduleError> {
    let mut places: Vec<Option<Inside>> = vec![None; graph.tensors.len()];
    let joins: Vec<NodeId> = joins.iter().filter(|&id| is_join(graph, id)).collect();
    // The outer ones come last.
    for node in joins.into_iter().rev().map(|id| &graph.nodes[id]) {
        let fail = |why: String| ScheduleError::NotAJoin { node: node.origin, why };
        let corners = corners(graph, node).map_err(|why| fail(why.to_string()))?;
        let outer = node.outputs.first().and_then(|&to| places[to]);
        for (&part, [row, texel]) in node.inputs.iter().zip(corners) {
            let most = || fail("it has more texels than 32 bits count".into());
            let corner =
                |i: usize, outer: u32| u32::try_from(i).ok().and_then(|i| i.checked_add(outer)).ok_or_else(most);
            let (row, texel) = (corner(row, outer.map_or(0, |o| o.row))?, corner(texel, outer.map_or(0, |o| o.texel))?);
            if graph.is_constant(part) || places[part].is_some() || !node.tail.is_empty() {
                return Err(fail(format!("`{}` cannot be computed there", graph.tensors[part].name)));
            }
            places[part] = Some(Inside { tensor: outer.map_or(node.outputs[0], |outer| outer.tensor), row, texel });
        }
    }
    Ok(places)
}

/// Whether a node that needs no step is one whose parts are written in place.
pub(super) fn is_join(graph: &Graph, id: NodeId) -> bool {
    graph.nodes.get(id).is_some_and(|node| matches!(node.op, Op::Concat { .. }))
}
