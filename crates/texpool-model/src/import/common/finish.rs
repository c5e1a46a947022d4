//! Final steps of importing any graph: pruning, checking, and a check for integers that floats may not hold exactly.

use std::collections::BTreeSet;

use super::index_casts::bound_index_casts;
use crate::import::{
    error::{ImportError, Problem},
    meter::Meter,
};
use texpool_ops::{
    graph::{Graph, IdVec, TensorId, check},
    ops,
};

/// Removes tensors that the importer created but nothing uses, and checks the graph.
pub(in crate::import) fn finished(graph: Graph, meter: &Meter) -> Result<Graph, ImportError> {
    let graph = pruned(graph);
    check(&graph)?;
    let [peak_bytes, steps, repeated] = meter.totals();
    let (nodes, tensors) = (graph.nodes.len(), graph.tensors.len());
    tracing::debug!(model = graph.name, nodes, tensors, made = peak_bytes, steps, repeated, "imported");
    Ok(graph)
}

/// Removes all tensors that no node, input or output names. Keeps the order of the others.
fn pruned(mut graph: Graph) -> Graph {
    let mut used = IdVec::from_elem(false, &graph.tensors);
    let nodes = graph.nodes.iter().flat_map(|node| node.operands().chain([node.output]));
    for id in nodes.chain(graph.inputs.iter().copied()).chain(graph.outputs.iter().copied()) {
        used[id] = true;
    }
    let mut next = 0;
    let new: IdVec<_, TensorId> = used
        .iter()
        .map(|&used| {
            let id = TensorId::new(next);
            next += usize::from(used);
            id
        })
        .collect();
    let mut old = used.iter();
    graph.tensors.retain(|_| old.next() == Some(&true));
    for node in &mut graph.nodes {
        node.operands_mut().for_each(|id| *id = new[*id]);
        node.output = new[node.output];
    }
    for id in graph.inputs.iter_mut().chain(&mut graph.outputs) {
        *id = new[*id];
    }
    graph
}

/// Upper end of the range in which 32-bit floats hold all whole numbers.
const MOST: u32 = 1 << f32::MANTISSA_DIGITS;

/// Returns the file's nodes whose integers may be rounded whatever the inputs are, by index, with the problem to
/// report. Bounds casts first where that makes integers exact and changes no result.
pub(in crate::import) fn inexact(graph: &mut Graph) -> Option<(BTreeSet<usize>, Problem)> {
    if ops::input_ranges(graph, MOST).is_ok() {
        return None;
    }
    bound_index_casts(graph);
    let nodes = ops::input_ranges(graph, MOST).err()?;
    let problem = Problem::new(
        format!(
            "its integers may not be exact: they are computed in 32-bit floats, which hold every one only up to {MOST}"
        ),
        "bound the floats that they are cast from by Clip, or compute in floats and cast the result",
    );
    Some((nodes.into_iter().map(|node| node.op_index).collect(), problem))
}
