//! Divides selected nodes into groups to fuse: as few and as large as possible, such that no group depends on its own
//! results through other nodes.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::graph::{Graph, NodeIndex};

/// Divides the nodes that are taken into groups. Sorts all nodes topologically, alternating between the two kinds:
/// first as many nodes as possible that are left, then as many as possible that are taken, and so on. Each run of
/// taken nodes in this order is a group, since no node that is left can depend on one of them and precede another.
pub(crate) fn groups(graph: &Graph<'_>, taken: &[bool]) -> Vec<Vec<NodeIndex>> {
    let producers = graph.producers();
    let mut readers: Vec<Vec<NodeIndex>> = vec![Vec::new(); graph.nodes.len()];
    let mut missing = vec![0usize; graph.nodes.len()];
    for (index, node) in graph.nodes.iter().enumerate() {
        for producer in node.reads().filter_map(|value| producers[value]) {
            readers[producer].push(index);
            missing[index] += 1;
        }
    }
    // Nodes whose operands are all available, separated by whether they are taken, lowest index first.
    let mut ready = [BinaryHeap::new(), BinaryHeap::new()];
    for index in (0..graph.nodes.len()).filter(|&index| missing[index] == 0) {
        ready[usize::from(taken[index])].push(Reverse(index));
    }
    let mut groups = Vec::new();
    while ready.iter().any(|heap| !heap.is_empty()) {
        for turn in 0..ready.len() {
            let mut group = Vec::new();
            while let Some(Reverse(index)) = ready[turn].pop() {
                group.push(index);
                for &reader in &readers[index] {
                    missing[reader] -= 1;
                    if missing[reader] == 0 {
                        ready[usize::from(taken[reader])].push(Reverse(reader));
                    }
                }
            }
            if turn == usize::from(true) && !group.is_empty() {
                group.sort_unstable();
                groups.push(group);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::groups;
    use crate::graph::{Graph, Node, Value};

    /// Returns a graph with the given reads of each node. Node `i` computes value `i`.
    fn graph(reads: &[&[usize]]) -> Graph<'static> {
        let value = |i: usize| Value { name: i.to_string(), kind: 1, dims: None, constant: None, overridable: false };
        let node = |(i, reads): (usize, &&[usize])| Node {
            inputs: reads.iter().map(|&value| Some(value)).collect(),
            outputs: vec![Some(i)],
            ..Node::default()
        };
        Graph {
            values: (0..reads.len()).map(value).collect(),
            nodes: reads.iter().enumerate().map(node).collect(),
            ..Graph::default()
        }
    }

    #[test]
    fn all_of_a_graph_is_one_group() {
        assert_eq!(groups(&graph(&[&[], &[0], &[0], &[1, 2]]), &[true; 4]), [[0, 1, 2, 3]]);
        assert!(groups(&graph(&[&[], &[0]]), &[false; 2]).is_empty());
    }

    /// Graph: 0 -> 1 (left) -> 2, and 0 -> 2. The two nodes that are taken cannot be fused.
    #[test]
    fn what_is_left_in_the_middle_divides() {
        assert_eq!(groups(&graph(&[&[], &[0], &[0, 1]]), &[true, false, true]), [[0], [2]]);
    }

    /// Node 1 is left and reads nothing that is taken. It runs first, so all others can be fused.
    #[test]
    fn what_is_left_and_waits_for_nothing_divides_nothing() {
        assert_eq!(groups(&graph(&[&[], &[], &[0, 1]]), &[true, false, true]), [[0, 2]]);
    }

    /// Two branches with a node in each that is left give two groups, not four.
    #[test]
    fn branches_are_divided_together() {
        let branches = graph(&[&[], &[], &[0], &[1], &[2], &[3]]);
        assert_eq!(groups(&branches, &[true, true, false, false, true, true]), [[0, 1], [4, 5]]);
    }
}
