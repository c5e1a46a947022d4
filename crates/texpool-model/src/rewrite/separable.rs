//! Joins a depthwise convolution and the pointwise one that alone reads it into one node. Their result in between is
//! neither stored nor planned.
//!
//! This is not a rule, because it must run after the rules, which know convolutions. It is on only by its name: networks
//! of such pairs take less time and memory, but drivers take longer to compile the kernel.

use super::{
    report::{Fired, Location, Report, Skipped},
    skip_reason::SkipReason,
};
use texpool_ops::{
    graph::{
        Act, Constant, DepthwiseConv2d, Graph, IdVec, Node, NodeId, Op, Padding, SeparableConv2d, Shape, Tensor,
        TensorId,
    },
    kernels::fits_epilogue,
    ops::separable_parts,
};

/// Name of the pass in the list of rules.
pub(super) const NAME: &str = "separable";

/// Parts up to which a pair is joined. Each computes the depthwise convolution again, and the weights of a joined node are
/// not divided into tiles, which matters where there are many. Chosen by judgement.
const MAX_PARTS: usize = 3;

/// Joins every pair for which it pays off.
pub(super) fn apply(mut graph: Graph, report: &mut Report) -> Graph {
    let (producer, reads) = producers_and_reads(&graph);
    let mut removed = IdVec::from_elem(false, &graph.nodes);
    for id in graph.nodes.ids() {
        let node = &graph.nodes[id];
        let first = node.inputs.first().filter(|&&x| reads[x] == 1).and_then(|&x| producer[x]);
        let Some((first, op)) = first.and_then(|first| Some((first, joined(&graph, &graph.nodes[first], node)?)))
        else {
            continue;
        };
        let location = Location::new(&graph, node);
        match op {
            Ok(op) => {
                report.fired.push(Fired { rule: NAME, location });
                join(&mut graph, first, id, op);
                removed[first] = true;
            }
            Err(why) => report.missed.push(Skipped { rule: NAME, location, why }),
        }
    }
    let mut removed = removed.into_iter();
    graph.nodes.retain(|_| !removed.next().unwrap_or(false));
    graph
}

/// Returns for each tensor the node that computes it, and how often it is read, by the caller included.
pub(super) fn producers_and_reads(graph: &Graph) -> (IdVec<TensorId, Option<NodeId>>, IdVec<TensorId, usize>) {
    let mut producer = IdVec::from_elem(None, &graph.tensors);
    let mut reads = IdVec::from_elem(0, &graph.tensors);
    for (id, node) in graph.nodes.iter_enumerated() {
        producer[node.output] = Some(id);
        node.operands().for_each(|tensor| reads[tensor] += 1);
    }
    graph.outputs.iter().for_each(|&output| reads[output] += 1);
    (producer, reads)
}

/// Returns the operator that computes both nodes, or the reason for keeping them apart. `None` for other nodes.
fn joined(graph: &Graph, first: &Node, second: &Node) -> Option<Result<SeparableConv2d, SkipReason>> {
    let (Op::DepthwiseConv2d(DepthwiseConv2d(depthwise)), Op::Conv2d(conv)) = (&first.op, &second.op) else {
        return None;
    };
    let between = match first.epilogue.first {
        Act::None => None,
        Act::Unary(function) if fits_epilogue(function) => Some(function),
        _ => return None,
    };
    let (window, weights) = (graph.shape(first.inputs[1]), graph.shape(second.inputs[1]));
    let is_pointwise =
        (weights.h, weights.w, conv.stride, conv.padding, conv.groups) == (1, 1, [1, 1], Padding::default(), 1);
    let mut constants = first.inputs[1..].iter().chain(&second.inputs[1..]);
    let ends_there = first.epilogue.add.is_none() && first.epilogue.then == Act::None;
    if !is_pointwise || !ends_there || !constants.all(|&tensor| graph.is_constant(tensor)) {
        return None;
    }
    let out = graph.shape(second.output);
    match separable_parts(depthwise, [graph.shape(first.inputs[0]), window, out])? {
        1..=MAX_PARTS => Some(Ok(SeparableConv2d { depthwise: *depthwise, between })),
        _ => Some(Err(SkipReason::NotWorthJoining { channels: out.c })),
    }
}

/// Makes the second node compute both.
fn join(graph: &mut Graph, first: NodeId, second: NodeId, op: SeparableConv2d) {
    let (window_bias, bias) = (bias(graph, first), bias(graph, second));
    let (x, window) = (graph.nodes[first].inputs[0], graph.nodes[first].inputs[1]);
    let op_index = graph.nodes[first].op_index;
    let node = &mut graph.nodes[second];
    *node =
        Node { op: op.into(), inputs: vec![x, node.inputs[1], bias, window, window_bias], op_index, ..node.clone() };
}

/// Returns the bias of a convolution; adds zeros for one that has none.
fn bias(graph: &mut Graph, node: NodeId) -> TensorId {
    if let Some(&bias) = graph.nodes[node].inputs.get(2) {
        return bias;
    }
    let output = &graph.tensors[graph.nodes[node].output];
    let (name, channels) = (format!("{}/bias", output.name), output.shape.c);
    let constant = Some(Constant::from_f32(&vec![0.0; channels]));
    graph.tensors.push(Tensor { constant, ..Tensor::new(name, Shape::new(1, 1, 1, channels)) })
}
