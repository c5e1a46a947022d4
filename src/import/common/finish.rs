//! Final step of importing any graph: pruning and checking.

use crate::{
    graph::{Graph, IdVec, TensorId, check},
    import::{error::ImportError, meter::Meter},
};

/// Removes tensors that the importer created but nothing uses, and checks the graph.
pub(in crate::import) fn finished(graph: Graph, meter: &Meter) -> Result<Graph, ImportError> {
    let graph = pruned(graph);
    check(&graph)?;
    let [made, steps, repeated] = meter.taken();
    let (nodes, tensors) = (graph.nodes.len(), graph.tensors.len());
    tracing::debug!(model = graph.name, nodes, tensors, made, steps, repeated, "imported");
    Ok(graph)
}

/// Removes all tensors that no node, input or output names. Keeps the order of the others.
fn pruned(mut graph: Graph) -> Graph {
    let mut used = IdVec::from_elem(false, &graph.tensors);
    // Epilogues contain no tensors yet: importers only fuse functions of one value, the rewriter does the rest.
    let nodes = graph.nodes.iter().flat_map(|node| node.inputs.iter().chain([&node.output]));
    for &id in nodes.chain(&graph.inputs).chain(&graph.outputs) {
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
    let nodes = graph.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut().chain([&mut node.output]));
    for id in nodes.chain(&mut graph.inputs).chain(&mut graph.outputs) {
        *id = new[*id];
    }
    graph
}
