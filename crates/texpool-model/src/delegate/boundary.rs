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
pub(super) fn waits(graph: &GraphOutline, known_nodes: &[bool]) -> Vec<Vec<usize>> {
    let producers = producers(graph);
    let waits = |(index, node): (usize, &NodeOutline)| {
        // Known nodes depend on nothing.
        let read = reads(node).filter(|_| !known_nodes[index]);
        let mut before: Vec<usize> =
            read.filter_map(|tensor| producers[tensor]).filter(|&node| !known_nodes[node]).collect();
        before.sort_unstable();
        before.dedup();
        before
    };
    graph.nodes.iter().enumerate().map(waits).collect()
}

/// The facts on which the border of a set depends.
#[derive(Clone, Debug)]
pub(super) struct Borders {
    /// Nodes that read nothing in a run.
    pub(super) known_nodes: Vec<bool>,
    /// Nodes whose results are constants, which the delegate computes wherever they are read.
    pub(super) constant_nodes: Vec<bool>,
    /// Tensors that are constants.
    pub(super) constant: Vec<bool>,
}

impl Borders {
    /// Creates a partition: nodes with the tensors that they read from outside, and those that others read from them.
    /// Constants do not cross the border.
    pub(super) fn partition(&self, graph: &GraphOutline, nodes: Vec<usize>) -> Partition {
        let mut is_outside = self.known_nodes.clone();
        nodes.iter().for_each(|&node| is_outside[node] = true);
        let mut crosses: Vec<bool> = self.constant.iter().map(|constant| !constant).collect();
        let mut is_read = vec![false; graph.tensors.len()];
        graph.outputs.iter().for_each(|&tensor| is_read[tensor] = true);
        let others = graph.nodes.iter().zip(&is_outside).filter(|(_, is_outside)| !**is_outside);
        others.flat_map(|(node, _)| reads(node)).for_each(|tensor| is_read[tensor] = true);

        let results = nodes.iter().flat_map(|&node| graph.nodes[node].outputs.iter().copied());
        let outputs = results.filter(|&tensor| crosses[tensor] && is_read[tensor]).collect();
        // A tensor that is computed here does not come from outside. Every other tensor is copied once.
        let computed = nodes.iter().flat_map(|&node| &graph.nodes[node].outputs);
        computed.for_each(|&tensor| crosses[tensor] = false);
        let computed = self.with_constants(graph, &nodes);
        let [inputs, extents] = [&nodes, &computed].map(|nodes| {
            let read = nodes.iter().flat_map(|&node| reads(&graph.nodes[node]));
            read.filter(|&tensor| std::mem::replace(&mut crosses[tensor], false)).collect()
        });
        Partition { nodes, computed, inputs, extents, outputs }
    }

    /// Returns nodes with the nodes of constants that they read, in ascending order.
    fn with_constants(&self, graph: &GraphOutline, nodes: &[usize]) -> Vec<usize> {
        let mut inside = vec![false; graph.nodes.len()];
        nodes.iter().for_each(|&node| inside[node] = true);
        let mut read = vec![false; graph.tensors.len()];
        // Backwards, because a constant is computed before it is read.
        for (index, node) in graph.nodes.iter().enumerate().rev() {
            inside[index] |= self.constant_nodes[index] && node.outputs.iter().any(|&tensor| read[tensor]);
            if inside[index] {
                reads(node).for_each(|tensor| read[tensor] = true);
            }
        }
        (0..graph.nodes.len()).filter(|&node| inside[node]).collect()
    }
}

/// Returns the work of a partition in a run. Tensors of unknown size count nothing.
pub(super) fn work(graph: &GraphOutline, partition: &Partition) -> Work {
    let operations = partition.nodes.iter().map(|&node| graph.nodes[node].operations);
    let tensors = partition.inputs.iter().chain(&partition.outputs).map(|&tensor| &graph.tensors[tensor]);
    let copied = tensors.filter_map(|tensor| tensor.bytes().or(tensor.tried_bytes));
    Work { operations: operations.fold(0, u64::saturating_add), copied: copied.fold(0, u64::saturating_add) }
}
