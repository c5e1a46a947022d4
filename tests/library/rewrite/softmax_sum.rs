//! Sums that the softmax behind computes.

use texpool_model::rewrite::{Rules, SkipReason};
use texpool_ops::graph::{Binary, Graph, Op, Softmax, TensorId};

use super::support::{Net, fires, ops, reason, rewritten};
use crate::support::graphs::n;

const DIMS: [usize; 4] = [2, 3, 5, 6];
const SOFTMAX: Op = Op::Softmax(Softmax { beta: 0.5, log: false });

/// Scores of an attention, changed by `change`, and their softmax.
fn attention(change: impl Fn(&mut Net, TensorId) -> TensorId) -> Graph {
    let mut net = Net::default();
    let x = net.input(&DIMS);
    let scores = net.unary(texpool_ops::graph::Unary::Tanh, x);
    let sum = change(&mut net, scores);
    let y = net.node(SOFTMAX, &[sum]);
    net.finish(&[y])
}

#[test]
fn a_mask_on_either_side_moves() {
    for dims in [DIMS, [1, 3, 5, 6], [2, 1, 5, 6], [1, 1, 1, 6]] {
        for (is_constant, is_first) in [(true, false), (true, true), (false, false), (false, true)] {
            let graph = attention(|net, scores| {
                let mask = if is_constant { net.weights(&dims) } else { net.input(&dims) };
                if is_first { net.add(mask, scores) } else { net.add(scores, mask) }
            });
            let rewriting = fires(&graph, "softmax-sum", 1);
            assert_eq!(ops(&rewriting.graph), ["TANH", "SOFTMAX"], "{dims:?}");
            assert_eq!(rewriting.graph.nodes[n(1)].inputs.len(), 2);
        }
    }
}

/// The softmax adds in the order of the nodes, so that it keeps every bit. There is no room for a third addend.
#[test]
fn bias_and_mask_keep_their_order() {
    let graph = attention(|net, scores| {
        let (bias, mask) = (net.weights(&[1, 3, 5, 6]), net.input(&[2, 1, 5, 6]));
        let biased = net.add(scores, bias);
        net.add(biased, mask)
    });
    let [bias, mask] = [&graph.nodes[n(1)], &graph.nodes[n(2)]].map(|node| node.inputs[1]);
    let rewriting = fires(&graph, "softmax-sum", 2);
    assert_eq!(rewriting.graph.nodes[n(1)].inputs[1..], [bias, mask]);

    let graph = attention(|net, scores| {
        (0..3).fold(scores, |sum, _| {
            let more = net.weights(&DIMS);
            net.add(sum, more)
        })
    });
    assert_eq!(ops(&fires(&graph, "softmax-sum", 2).graph), ["TANH", "ADD", "SOFTMAX"]);
}

#[test]
fn other_sums_stay() {
    // One value for all channels, and scores that repeat.
    for mask in [[2, 3, 5, 1], [1, 1, 1, 1]] {
        let graph = attention(|net, scores| {
            let mask = net.weights(&mask);
            net.add(scores, mask)
        });
        assert!(matches!(reason(&graph, "softmax-sum"), SkipReason::ShapeMismatch { .. }), "{mask:?}");
    }
    let graph = attention(|net, scores| {
        let mask = net.input(&[4, 3, 5, 6]);
        let [first, second] = [net.input(&[1, 3, 5, 6]), net.binary(Binary::Mul, mask, mask)];
        let _ = scores;
        net.add(first, second)
    });
    assert_eq!(fires(&graph, "softmax-sum", 1).graph.nodes.last().unwrap().inputs.len(), 2);

    // Two computed tensors beside the scores.
    let graph = attention(|net, scores| {
        let (bias, mask) = (net.input(&DIMS), net.input(&DIMS));
        let biased = net.add(scores, bias);
        net.add(biased, mask)
    });
    assert_eq!(ops(&fires(&graph, "softmax-sum", 1).graph), ["TANH", "ADD", "SOFTMAX"]);

    // The sum is read elsewhere, too.
    let mut net = Net::default();
    let (x, mask) = (net.input(&DIMS), net.weights(&DIMS));
    let sum = net.add(x, mask);
    let (y, z) = (net.node(SOFTMAX, &[sum]), net.relu(sum));
    assert!(matches!(reason(&net.finish(&[y, z]), "softmax-sum"), SkipReason::ReadElsewhere { .. }));
}

/// The factor of a softmax applies to addends, too, so no product in front of them becomes part of it.
#[test]
fn a_product_in_front_of_a_mask_stays() {
    let graph = attention(|net, scores| {
        let (scale, mask) = (net.weights(&[1]), net.input(&DIMS));
        let scaled = net.binary(Binary::Mul, scores, scale);
        net.add(scaled, mask)
    });
    let rules = Rules::only(&["softmax-sum", "arithmetic-ahead"]).unwrap();
    let rewriting = rewritten(&graph, &rules);
    assert_eq!(ops(&rewriting.graph), ["TANH", "MUL", "SOFTMAX"]);
    assert_eq!(rewriting.graph.nodes[n(2)].op, SOFTMAX);
}
