//! Divides the taken nodes into groups of which none depends on its own results, by the rule that `texpool explain` uses.

use texpool::delegate::{FirstTurn, sets};

use crate::graph::{Graph, NodeIndex};

/// Divides the taken nodes into as few groups as possible.
pub(crate) fn groups(graph: &Graph<'_>, taken: &[bool]) -> Vec<Vec<NodeIndex>> {
    let producers = graph.producers();
    let waits: Vec<Vec<NodeIndex>> =
        graph.nodes.iter().map(|node| node.reads().filter_map(|value| producers[value]).collect()).collect();
    sets(&waits, taken, FirstTurn::Left)
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
