//! Makes nodes that no single step can run into several that can. This is no rule: it cannot be switched off, and a
//! graph in which nothing must be split stays as it is.
//!
//! A texel is four channels and is put together in one step out of two computed tensors at most. A concatenation along
//! channels in which more meet in one texel becomes a chain: two parts that meet are joined into a tensor first.
//! Where a constant stands that a kernel can only read as a computed tensor, a concatenation of it alone computes it.

use std::borrow::Cow;

use crate::graph::{Graph, Node, NodeId, Op, Order, Shape, Tail, Tensor};

/// Computed tensors that a step can put together in a texel.
const MEET: usize = 2;

/// Splits what must be split.
pub fn split(graph: &Graph) -> Cow<'_, Graph> {
    let mut made = Cow::Borrowed(graph);
    let mut at: NodeId = 0;
    while let Some(node) = made.nodes.get(at) {
        let single = || fixed(&made, node).map(|operand| [operand; 2]);
        match crowded(&made, node).or_else(single) {
            Some(operands) => {
                let graph = made.to_mut();
                let joined = join(graph, at, operands);
                graph.nodes.insert(at, joined);
            }
            None => at += 1,
        }
    }
    made
}

/// The operands to be joined, first and last, if too many computed parts meet in some texel.
fn crowded(graph: &Graph, node: &Node) -> Option<[usize; 2]> {
    let Op::Concat { axis: 3 } = node.op else { return None };
    let mut end = 0;
    let mut open: Vec<usize> = Vec::new();
    for (operand, &tensor) in node.inputs.iter().enumerate() {
        let begin = end;
        end += graph.shape(tensor).c;
        if begin == end {
            continue;
        }
        if begin % 4 == 0 {
            open.clear();
        }
        open.push(operand);
        let computed = |&&operand: &&usize| !graph.is_constant(node.inputs[operand]);
        if open.iter().filter(computed).count() > MEET {
            // Of three computed parts and one constant at most, two neighbours are never both constants.
            return Some([open[0], open[1]]);
        }
        // Only the part that reaches into a texel's end meets what follows in it.
        if begin / 4 != end / 4 {
            open = vec![operand];
        }
    }
    None
}

/// The constant operand, if there is one that must be computed.
fn fixed(graph: &Graph, node: &Node) -> Option<usize> {
    let constant = |operand: usize| node.inputs.get(operand).is_some_and(|&tensor| graph.is_constant(tensor));
    let wrong = match node.op {
        Op::Concat { .. } | Op::Gather { .. } | Op::GatherElements { .. } => false,
        Op::Binary(_) | Op::Prelu | Op::MatMul { .. } => constant(0) && constant(1),
        _ => constant(0),
    };
    wrong.then_some(0)
}

/// Joins the operands `first..=last` of node `at`; answers the node that does it.
fn join(graph: &mut Graph, at: NodeId, [first, last]: [usize; 2]) -> Node {
    let node = &graph.nodes[at];
    let joined: Vec<usize> = node.inputs[first..=last].to_vec();
    let channels = joined.iter().map(|&tensor| graph.shape(tensor).c).sum();
    let shape = Shape { c: channels, ..graph.shape(joined[0]) };
    let name = format!("{}/joined", graph.tensors[node.outputs[0]].name);
    let id = graph.tensors.len();
    graph.tensors.push(Tensor { name, shape, dims: shape.dims().to_vec(), order: Order::default(), constant: None });
    let node = &mut graph.nodes[at];
    node.inputs.splice(first..=last, [id]);
    Node { op: Op::Concat { axis: 3 }, inputs: joined, outputs: vec![id], tail: Tail::default(), origin: node.origin }
}
