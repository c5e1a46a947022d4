//! Makes nodes that no kernel can run into several that can, before steps are made of them.
//!
//! A texel can be put together out of two computed tensors at most (`concat`). A concatenation along channels in which
//! more meet in one texel becomes a chain: two parts that meet are joined into a tensor of their own first.

use super::concat::{self, Part};
use crate::graph::{Graph, Node, NodeId, Op, Shape, Tail, Tensor};

/// Splits what must be split. A graph in which nothing must stays as it is.
pub fn split(mut graph: Graph) -> Graph {
    let mut at: NodeId = 0;
    while at < graph.nodes.len() {
        match crowded(&graph, &graph.nodes[at]) {
            Some(first) => {
                let joined = join(&mut graph, at, first);
                graph.nodes.insert(at, joined);
            }
            None => at += 1,
        }
    }
    graph
}

/// The first of two neighbouring operands to be joined, if too many computed parts meet in some texel.
fn crowded(graph: &Graph, node: &Node) -> Option<usize> {
    let Op::Concat { axis: 3 } = node.op else { return None };
    let parts = concat::parts(graph, node, 3);
    (0..graph.shape(node.outputs[0]).slices()).find_map(|slice| {
        let meet: Vec<&Part> = parts.iter().filter(|p| p.end > slice * 4 && p.begin < slice * 4 + 4).collect();
        let computed = meet.iter().filter(|part| !part.constant).count();
        let pair = meet.windows(2).find(|pair| !(pair[0].constant && pair[1].constant))?;
        (computed > 2).then_some(pair[0].operand)
    })
}

/// Joins operand `first` of node `at` with the next that is not empty; answers the node that does it.
fn join(graph: &mut Graph, at: NodeId, first: usize) -> Node {
    let node = &graph.nodes[at];
    let last = (first + 1..node.inputs.len()).find(|&i| graph.shape(node.inputs[i]).c > 0).unwrap_or(first);
    let joined: Vec<usize> = node.inputs[first..=last].to_vec();
    let shape = graph.shape(joined[0]);
    let shape = Shape { c: joined.iter().map(|&tensor| graph.shape(tensor).c).sum(), ..shape };
    let name = format!("{}/joined", graph.tensors[node.outputs[0]].name);
    let id = graph.tensors.len();
    graph.tensors.push(Tensor { name, shape, dims: shape.dims().to_vec(), constant: None });
    let node = &mut graph.nodes[at];
    node.inputs.splice(first..=last, [id]);
    Node { op: Op::Concat { axis: 3 }, inputs: joined, outputs: vec![id], tail: Tail::default(), origin: node.origin }
}
