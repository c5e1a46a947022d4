//! Leaving out what an importer made on its way and nothing reads.

use crate::graph::{Graph, TensorId};

/// The graph with only the tensors that nodes, inputs and outputs name, in the same order.
pub(super) fn pruned(mut graph: Graph) -> Graph {
    let mut used = vec![false; graph.tensors.len()];
    let nodes = graph.nodes.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs));
    for &id in nodes.chain(&graph.inputs).chain(&graph.outputs) {
        used[id] = true;
    }
    let mut next = 0;
    let new: Vec<TensorId> = used
        .iter()
        .map(|&used| {
            let id = next;
            next += usize::from(used);
            id
        })
        .collect();
    let mut old = used.iter();
    graph.tensors.retain(|_| old.next() == Some(&true));
    let nodes = graph.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut().chain(&mut node.outputs));
    for id in nodes.chain(&mut graph.inputs).chain(&mut graph.outputs) {
        *id = new[*id];
    }
    graph
}
