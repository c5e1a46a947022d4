//! Depthwise and pointwise convolutions in one step: where they are joined, and what is left apart.

use texpool_model::rewrite::{Rules, SkipReason, rewrite};
use texpool_ops::graph::{Act, Conv2d, Op, SeparableConv2d, Unary};

use super::support::{Net, RELU, ops, rewritten, same};
use crate::support::graphs::n;

const JOINED: [&str; 1] = ["SEPARABLE_CONV_2D"];
const APART: [&str; 2] = ["DEPTHWISE_CONV_2D", "CONV_2D"];

fn separable() -> Rules {
    Rules::default().with(&["separable"]).unwrap()
}

#[test]
fn a_pair_is_one_node_with_the_functions_of_both() {
    let mut net = Net::default();
    let x = net.input(&[1, 9, 8, 6]);
    let a = net.depthwise(x);
    let a = net.unary(Unary::Relu6, a);
    let b = net.conv(a, 12, 1);
    let b = net.unary(Unary::Relu, b);
    let rewriting = rewritten(&net.finish(&[b]), &separable());
    assert_eq!(ops(&rewriting.graph), JOINED);
    assert_eq!(rewriting.report.count("separable"), 1);
    let node = &rewriting.graph.nodes[n(0)];
    assert_eq!(node.op, Op::SeparableConv2d(SeparableConv2d { depthwise: same(3), between: Some(Unary::Relu6) }));
    assert_eq!((node.epilogue.first, node.op_index), (RELU, 0));
}

/// Convolutions without biases get zeros.
#[test]
fn biases_may_be_missing() {
    let mut net = Net::default();
    let x = net.input(&[1, 5, 5, 4]);
    let (window, weights) = (net.weights(&[1, 3, 3, 4]), net.weights(&[8, 1, 1, 4]));
    let a = net.node(Op::DepthwiseConv2d(texpool_ops::graph::DepthwiseConv2d(same(3))), &[x, window]);
    let b = net.node(Op::Conv2d(same(1)), &[a, weights]);
    assert_eq!(ops(&rewritten(&net.finish(&[b]), &separable()).graph), JOINED);
}

/// Values that something else reads, that are added to, or that are activated by values of each channel are stored.
#[test]
fn values_that_are_needed_stay() {
    let apart = |build: fn(&mut Net) -> Vec<texpool_ops::graph::TensorId>| {
        let mut net = Net::default();
        let outputs = build(&mut net);
        rewritten(&net.finish(&outputs), &separable())
    };
    let returned = apart(|net| {
        let x = net.input(&[1, 5, 5, 8]);
        let a = net.depthwise(x);
        vec![a, net.conv(a, 4, 1)]
    });
    assert_eq!(ops(&returned.graph), APART);
    let added = apart(|net| {
        let x = net.input(&[1, 5, 5, 8]);
        let a = net.depthwise(x);
        let sum = net.add(a, x);
        vec![net.conv(sum, 4, 1)]
    });
    assert_eq!(ops(&added.graph), APART);
    let by_channel = apart(|net| {
        let x = net.input(&[1, 5, 5, 8]);
        let (window, alpha) = (net.weights(&[1, 3, 3, 8]), net.weights(&[8]));
        let op = Op::DepthwiseConv2d(texpool_ops::graph::DepthwiseConv2d(same(3)));
        let a = net.node_to(op, &[x, window], &[1, 5, 5, 8], Act::Prelu(alpha));
        vec![net.conv(a, 4, 1)]
    });
    assert_eq!(ops(&by_channel.graph), APART);
}

/// Other convolutions are not worth a reason; many channels are.
#[test]
fn other_convolutions_stay() {
    for conv in [Conv2d { stride: [2, 2], ..same(1) }, same(3)] {
        let mut net = Net::default();
        let x = net.input(&[1, 9, 9, 8]);
        let a = net.depthwise(x);
        let kernel = if conv == same(3) { 3 } else { 1 };
        let weights = net.weights(&[4, kernel, kernel, 8]);
        let b = net.node(Op::Conv2d(conv), &[a, weights]);
        let rewriting = rewritten(&net.finish(&[b]), &separable());
        assert_eq!(ops(&rewriting.graph), APART);
        assert!(rewriting.report.missed.iter().all(|missed| missed.rule != "separable"));
    }
    for (channels, expected) in [(96, &JOINED[..]), (97, &APART)] {
        let mut net = Net::default();
        let x = net.input(&[1, 9, 9, 8]);
        let a = net.depthwise(x);
        let b = net.conv(a, channels, 1);
        let rewriting = rewritten(&net.finish(&[b]), &separable());
        assert_eq!(ops(&rewriting.graph), expected, "{channels}");
        let reasons: Vec<_> = rewriting.report.missed.iter().filter(|missed| missed.rule == "separable").collect();
        assert_eq!(reasons.len(), expected.len() - 1);
        assert!(reasons.iter().all(|missed| missed.why == SkipReason::NotWorthJoining { channels }));
    }
}

#[test]
fn only_its_name_turns_it_on() {
    let mut net = Net::default();
    let x = net.input(&[1, 9, 9, 8]);
    let a = net.depthwise(x);
    let b = net.conv(a, 8, 1);
    let graph = net.finish(&[b]);
    for rules in [Rules::default(), Rules::all(), Rules::default().with(&["winograd"]).unwrap()] {
        assert_eq!(ops(&rewrite(&graph, &rules).graph), APART);
    }
    assert_eq!(ops(&rewrite(&graph, &Rules::only(&["separable"]).unwrap()).graph), JOINED);
}
