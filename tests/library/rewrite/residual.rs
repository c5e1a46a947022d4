//! Additions moved into the node that computes an operand.

use texpool_model::rewrite::{Rules, SkipReason};
use texpool_ops::graph::{Act, Epilogue, Op, Padding, Pool2d, PoolKind, StridedSlice, TensorId, Unary};

use super::support::{Net, RELU, fires, ops, reason, rewritten};
use crate::support::graphs::n;

fn net() -> (Net, TensorId) {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 6, 5]);
    (net, x)
}

#[test]
fn a_convolution_adds_what_was_there_before_it() {
    for swapped in [false, true] {
        let (mut net, x) = net();
        let y = net.conv(x, 5, 1);
        let z = if swapped { net.add(x, y) } else { net.add(y, x) };
        let rewriting = fires(&net.finish(&[z]), "residual", 1);
        assert_eq!(rewriting.graph.nodes[n(0)].epilogue, Epilogue { add: Some(x), ..Epilogue::default() });
    }
}

#[test]
fn activations_on_both_sides_of_the_addition_keep_their_order() {
    let (mut net, x) = net();
    let y = net.conv(x, 5, 1);
    let y = net.unary(Unary::Relu6, y);
    let y = net.add(y, x);
    let z = net.relu(y);
    let rewriting = rewritten(&net.finish(&[z]), &Rules::only(&["activation", "residual"]).unwrap());
    assert_eq!(rewriting.graph.nodes.len(), 1);
    assert_eq!(
        rewriting.graph.nodes[n(0)].epilogue,
        Epilogue { first: Act::Unary(Unary::Relu6), add: Some(x), then: RELU }
    );
}

#[test]
fn zeros_behind_the_last_channel_are_left_out() {
    let (mut net, x) = net();
    let y = net.conv(x, 7, 1);
    let padded = net.pad(x, [0; 4], [0, 0, 0, 2]);
    let z = net.add(padded, y);
    let rewriting = fires(&net.finish(&[z]), "residual", 1);
    assert_eq!(ops(&rewriting.graph), ["CONV_2D"]);
    assert_eq!(rewriting.graph.nodes[n(0)].epilogue.add, Some(x));
}

#[test]
fn padding_that_is_read_elsewhere_is_left_where_it_is() {
    let (mut net, x) = net();
    let y = net.conv(x, 7, 1);
    let padded = net.pad(x, [0; 4], [0, 0, 0, 2]);
    let z = net.add(padded, y);
    let rewriting = fires(&net.finish(&[padded, z]), "residual", 1);
    assert_eq!(ops(&rewriting.graph), ["CONV_2D", "PAD"]);
}

#[test]
fn a_convolution_waits_for_an_addend_that_comes_later() {
    let (mut net, x) = net();
    let y = net.conv(x, 5, 1);
    let late = net.unary(Unary::Tanh, x);
    let z = net.add(y, late);
    let rewriting = fires(&net.finish(&[z]), "residual", 1);
    assert_eq!(ops(&rewriting.graph), ["TANH", "CONV_2D"]);
}

#[test]
fn the_later_of_two_convolutions_adds_the_earlier() {
    let (mut net, x) = net();
    let a = net.conv(x, 5, 1);
    let b = net.conv(x, 5, 3);
    let z = net.add(a, b);
    let rewriting = fires(&net.finish(&[z]), "residual", 1);
    assert_eq!(rewriting.graph.nodes[n(1)].epilogue.add, Some(a));
}

#[test]
fn the_earlier_convolution_adds_if_the_later_cannot() {
    let (mut net, x) = net();
    let a = net.conv(x, 5, 1);
    let b = net.conv(x, 5, 3);
    let z = net.add(a, b);
    let rewriting = fires(&net.finish(&[b, z]), "residual", 1);
    assert_eq!(rewriting.graph.nodes[n(1)].epilogue.add, Some(b));
}

#[test]
fn incompatible_additions_stay() {
    let (mut net, x) = net();
    let one = net.conv(x, 1, 1);
    let y = net.conv(x, 5, 1);
    let z = net.add(y, one);
    let why = reason(&net.finish(&[z]), "residual");
    assert_eq!(
        why,
        SkipReason::ShapeMismatch { tensor: "t3".into() },
        "one channel repeats, it is not followed by zeros"
    );

    let (mut net, x) = net_of_two();
    let z = net.add(x[0], x[1]);
    assert!(matches!(reason(&net.finish(&[z]), "residual"), SkipReason::NotComputed { .. }));

    let (mut net, x) = net_of_two();
    let y = net.relu(x[0]);
    let z = net.add(y, x[1]);
    assert_eq!(reason(&net.finish(&[z]), "residual"), SkipReason::UnsupportedNode { op: "RELU" });

    let (mut net, x) = net_of_two();
    let y = net.conv(x[0], 5, 1);
    let z = net.add(y, y);
    assert!(matches!(reason(&net.finish(&[z]), "residual"), SkipReason::ReadElsewhere { .. }));
}

fn net_of_two() -> (Net, [TensorId; 2]) {
    let (mut net, a) = net();
    let b = net.input(&[1, 4, 6, 5]);
    (net, [a, b])
}

#[test]
fn a_second_addition_finds_no_room() {
    let (mut net, [a, b]) = net_of_two();
    let y = net.conv(a, 5, 1);
    let y = net.add(y, a);
    let z = net.add(y, b);
    let rewriting = fires(&net.finish(&[z]), "residual", 1);
    assert_eq!(rewriting.report.missed[0].why, SkipReason::EpilogueTaken { op: "CONV_2D" });
}

/// The two kinds of block that BlazeFace is made of, after its first convolution.
#[test]
fn blaze_blocks_become_a_depthwise_and_a_pointwise_convolution() {
    let (mut net, x) = net();
    let x = net.conv(x, 8, 3);
    let x = net.relu(x);
    let y = net.depthwise(x);
    let y = net.conv(y, 8, 1);
    let y = net.add(x, y);
    let x = net.relu(y);

    let padded = net.pad(x, [0; 4], [0, 1, 1, 0]);
    let y = net.depthwise(padded);
    let halve = Op::StridedSlice(StridedSlice { begin: [0; 4], stride: [1, 2, 2, 1] });
    let y = net.node_to(halve, &[y], &[1, 2, 3, 8], Act::None);
    let window = Pool2d::plain(PoolKind::Max, [2, 2], [2, 2], Padding::default());
    let pooled = net.node(Op::Pool2d(window), &[x]);
    let y = net.conv(y, 12, 1);
    let skip = net.pad(pooled, [0; 4], [0, 0, 0, 4]);
    let y = net.add(skip, y);
    let z = net.relu(y);

    let rewriting = rewritten(&net.finish(&[z]), &Rules::all());
    let expected =
        ["CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "STRIDED_SLICE", "MAX_POOL_2D", "CONV_2D"];
    assert_eq!(ops(&rewriting.graph), expected);
    assert_eq!(rewriting.graph.nodes[n(6)].epilogue, Epilogue { first: Act::None, add: Some(pooled), then: RELU });
}
