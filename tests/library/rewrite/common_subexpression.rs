//! Nodes that compute the same result from the same operands.

use texpool_model::rewrite::SkipReason;
use texpool_ops::graph::{Op, Unary};

use super::support::{Net, fires, ops, reason};

const DIMS: [usize; 4] = [1, 4, 6, 8];

/// Two convolutions with the same weights are merged, and then the additions of their results are merged, too.
#[test]
fn nodes_alike_share_their_results_one_after_another() {
    let mut net = Net::default();
    let x = net.input(&DIMS);
    let (weights, bias) = (net.weights(&[8, 1, 1, 8]), net.weights(&[8]));
    let conv = Op::Conv2d(super::support::same(1));
    let [a, b] = [0, 1].map(|_| net.node(conv.clone(), &[x, weights, bias]));
    let [a, b] = [a, b].map(|y| net.unary(Unary::Tanh, y));
    let y = net.add(a, b);
    let rewriting = fires(&net.finish(&[y]), "common-subexpression", 2);
    assert_eq!(ops(&rewriting.graph), ["CONV_2D", "TANH", "ADD"]);
}

/// A different operator, operand, operand order or result shape makes a different value.
#[test]
fn nodes_that_differ_stay() {
    let mut net = Net::default();
    let (x, z) = (net.input(&DIMS), net.input(&DIMS));
    let values = [
        net.unary(Unary::Tanh, x),
        net.unary(Unary::Exp, x),
        net.unary(Unary::Tanh, z),
        net.binary(texpool_ops::graph::Binary::Sub, x, z),
        net.binary(texpool_ops::graph::Binary::Sub, z, x),
    ];
    let mut outputs: Vec<_> = values[1..].iter().map(|&value| net.add(values[0], value)).collect();
    outputs.extend([net.reshape(x, &[1, 4, 8, 6]), net.reshape(x, &[1, 6, 4, 8])].map(|y| net.unary(Unary::Exp, y)));
    let nodes = net.finish(&outputs);
    assert_eq!(fires(&nodes, "common-subexpression", 0).graph.nodes.len(), nodes.nodes.len());
}

/// A graph output keeps its own tensor, even if another tensor has the same values.
#[test]
fn an_output_stays() {
    let mut net = Net::default();
    let x = net.input(&DIMS);
    let [a, b] = [0, 1].map(|_| net.unary(Unary::Tanh, x));
    let name = format!("t{}", 2);
    assert_eq!(reason(&net.finish(&[a, b]), "common-subexpression"), SkipReason::IsOutput { tensor: name });
}
