//! Constants folded into weights and biases.

use texpool_model::rewrite::SkipReason;
use texpool_ops::graph::{Act, Binary, Conv2d, Graph, Op, Padding, TransposeConv, Unary};

use super::support::{Net, RELU, fires, ops, reason, rewritten, same};
use crate::support::graphs::n;

/// The operator before the arithmetic.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Conv,
    Grouped,
    NoBias,
    Depthwise,
    Transpose,
    FullyConnected,
}

const KINDS: [Kind; 6] =
    [Kind::Conv, Kind::Grouped, Kind::NoBias, Kind::Depthwise, Kind::Transpose, Kind::FullyConnected];

/// A node of the kind with six channels, then a binary node with a constant.
fn followed(kind: Kind, binary: Binary, constant: &[f32], constant_first: bool) -> Graph {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = match kind {
        Kind::Conv => net.conv(x, 6, 3),
        Kind::Grouped => {
            let weights = net.weights(&[6, 3, 3, 3]);
            let bias = net.weights(&[6]);
            net.node(Op::Conv2d(Conv2d { groups: 2, ..same(3) }), &[x, weights, bias])
        }
        Kind::NoBias => {
            let weights = net.weights(&[6, 1, 1, 6]);
            net.node(Op::Conv2d(same(1)), &[x, weights])
        }
        Kind::Depthwise => net.depthwise(x),
        Kind::Transpose => {
            let weights = net.weights(&[6, 2, 2, 6]);
            let op = Op::TransposeConv(TransposeConv::plain([2, 2], Padding::default()));
            net.node_to(op, &[x, weights], &[1, 8, 8, 6], Act::None)
        }
        Kind::FullyConnected => {
            let weights = net.weights(&[6, 48]);
            net.node_to(Op::FullyConnected, &[x, weights], &[2, 6], Act::None)
        }
    };
    let c = net.constant(&[constant.len()], constant);
    let z = if constant_first { net.binary(binary, c, y) } else { net.binary(binary, y, c) };
    net.finish(&[z])
}

const PER_CHANNEL: [f32; 6] = [0.5, -2.0, 3.0, 0.25, -0.125, 1.5];

#[test]
fn every_affine_function_folds_into_every_kind() {
    use Binary::{Add, Div, Mul, Sub};
    for kind in KINDS {
        for constant in [&PER_CHANNEL[..], &[0.7]] {
            for (binary, first) in [(Add, false), (Add, true), (Sub, false), (Sub, true), (Mul, true), (Div, false)] {
                let graph = followed(kind, binary, constant, first);
                let rewriting = fires(&graph, "arithmetic", 1);
                assert_eq!(rewriting.graph.nodes.len(), 1, "{kind:?} {binary:?}");
            }
        }
    }
}

#[test]
fn a_quotient_with_the_result_below_stays() {
    assert_eq!(reason(&followed(Kind::Conv, Binary::Div, &[2.0], true), "arithmetic"), SkipReason::ConstantDividend);
}

#[test]
fn greatest_and_least_are_no_arithmetic() {
    let rewriting = fires(&followed(Kind::Conv, Binary::Maximum, &[2.0], false), "arithmetic", 0);
    assert!(rewriting.report.missed.is_empty());
}

#[test]
fn overflowing_weights_stay() {
    let graph = followed(Kind::Conv, Binary::Div, &[1e-39], false);
    assert!(matches!(reason(&graph, "arithmetic"), SkipReason::NotFinite { .. }));
}

#[test]
fn a_constant_of_other_extents_stays() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 6, 1);
    let c = net.weights(&[4, 1]);
    let z = net.add(y, c);
    assert!(matches!(reason(&net.finish(&[z]), "arithmetic"), SkipReason::NotPerChannel { .. }));

    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 1, 1);
    let c = net.weights(&[6]);
    let z = net.add(y, c);
    assert!(matches!(reason(&net.finish(&[z]), "arithmetic"), SkipReason::ShapeMismatch { .. }));
}

#[test]
fn an_activation_in_between_keeps_it_apart() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let weights = net.weights(&[6, 1, 1, 6]);
    let y = net.node_to(Op::Conv2d(same(1)), &[x, weights], &[1, 4, 4, 6], RELU);
    let c = net.constant(&[1], &[2.0]);
    let z = net.add(y, c);
    assert_eq!(reason(&net.finish(&[z]), "arithmetic"), SkipReason::EpilogueTaken { op: "CONV_2D" });
}

#[test]
fn shared_weights_are_left_to_the_other_reader() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let weights = net.weights(&[6, 1, 1, 6]);
    let bias = net.weights(&[6]);
    let a = net.node(Op::Conv2d(same(1)), &[x, weights, bias]);
    let b = net.node(Op::Conv2d(same(1)), &[a, weights, bias]);
    let c = net.constant(&[1], &[2.0]);
    let z = net.binary(Binary::Mul, b, c);
    let rewriting = fires(&net.finish(&[z]), "arithmetic", 1);
    assert_eq!(rewriting.graph.nodes[n(0)].inputs, [x, weights, bias]);
    assert_ne!(rewriting.graph.nodes[n(1)].inputs[1..], [weights, bias]);
}

#[test]
fn a_result_that_is_seen_elsewhere_stays() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 6, 1);
    let c = net.constant(&[1], &[2.0]);
    let z = net.add(y, c);
    assert_eq!(reason(&net.finish(&[y, z]), "arithmetic"), SkipReason::IsOutput { tensor: "t3".into() });
}

#[test]
fn a_chain_ends_up_in_one_node_with_its_activation() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 6, 1);
    let scale = net.constant(&[6], &PER_CHANNEL);
    let shift = net.constant(&[1], &[0.3]);
    let y = net.binary(Binary::Mul, y, scale);
    let y = net.binary(Binary::Sub, shift, y);
    let z = net.unary(Unary::HardSwish, y);
    let rewriting = rewritten(&net.finish(&[z]), &texpool_model::rewrite::Rules::all());
    assert_eq!(ops(&rewriting.graph), ["CONV_2D"]);
}
