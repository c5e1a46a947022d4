//! Dependencies between nodes, and the tensors that cross the border of a set of nodes.

use super::{selection::Partition, worth::Work};
use crate::import::{GraphOutline, NodeOutline};

/// Returns all tensors that must be computed before a node runs.
pub(super) fn reads(node: &NodeOutline) -> impl Iterator<Item = usize> + '_ {
    node.inputs.iter().chain(&node.implicit).copied()
}

/// Returns the node that computes each tensor.
pub(super) fn producers(graph: &GraphOutline) -> Vec<Option<usize>> {
    let mut producers = vec![None; graph.tensors.len()];
    for (index, node) in graph.nodes.iter().enumerate() {
        node.outputs.iter().for_each(|&tensor| producers[tensor] = Some(index));
    }
    producers
}

/// Returns the nodes whose results each node reads, except `known` ones, whose results are computed before any run.
pub(super) fn waits(graph: &GraphOutline, known: &[bool]) -> Vec<Vec<usize>> {
    let producers = producers(graph);
    let waits = |(index, node): (usize, &NodeOutline)| {
        // Known nodes depend on nothing.
        let read = reads(node).filter(|_| !known[index]);
        let mut before: Vec<usize> = read.filter_map(|tensor| producers[tensor]).filter(|&node| !known[node]).collect();
        before.sort_unstable();
        before.dedup();
        before
    };
    graph.nodes.iter().enumerate().map(waits).collect()
}

/// Creates a partition: nodes with the tensors that they read from outside, and those that others read from them.
/// Constants do not cross the border, and `known` nodes read nothing in a run.
pub(super) fn partition(graph: &GraphOutline, nodes: Vec<usize>, known: &[bool], constant: &[bool]) -> Partition {
    let mut apart = known.to_vec();
    nodes.iter().for_each(|&node| apart[node] = true);
    let mut crosses: Vec<bool> = constant.iter().map(|constant| !constant).collect();
    let mut wanted = vec![false; graph.tensors.len()];
    graph.outputs.iter().for_each(|&tensor| wanted[tensor] = true);
    let others = graph.nodes.iter().zip(&apart).filter(|(_, apart)| !**apart);
    others.flat_map(|(node, _)| reads(node)).for_each(|tensor| wanted[tensor] = true);

    let mut outputs: Vec<usize> = nodes.iter().flat_map(|&node| graph.nodes[node].outputs.iter().copied()).collect();
    outputs.retain(|&tensor| crosses[tensor] && wanted[tensor]);
    // A tensor that is computed here does not come from outside. Every other tensor is copied once.
    let computed = nodes.iter().flat_map(|&node| &graph.nodes[node].outputs);
    computed.for_each(|&tensor| crosses[tensor] = false);
    let read = nodes.iter().flat_map(|&node| reads(&graph.nodes[node]));
    let inputs = read.filter(|&tensor| std::mem::replace(&mut crosses[tensor], false)).collect();
    Partition { nodes, inputs, outputs }
}

/// Returns the work of a partition in a run. Tensors of unknown size count nothing.
pub(super) fn work(graph: &GraphOutline, partition: &Partition) -> Work {
    let operations = partition.nodes.iter().map(|&node| graph.nodes[node].operations);
    let copied = partition.inputs.iter().chain(&partition.outputs).filter_map(|&tensor| graph.tensors[tensor].bytes());
    Work { operations: operations.fold(0, u64::saturating_add), copied: copied.fold(0, u64::saturating_add) }
}
