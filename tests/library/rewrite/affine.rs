//! Chains of arithmetic with constants, and arithmetic folded into the node after it.

use proptest::prelude::*;
use texpool_model::rewrite::{Rules, SkipReason};
use texpool_ops::graph::{
    Act, Binary, Conv2d, DepthwiseConv2d, Graph, Op, Padding, Softmax, TensorId, TransposeConv, Unary,
};

use super::support::{Net, fires, only, ops, reason, rewritten, same};
use crate::support::graphs::n;
use Binary::{Add, Div, Mul, Sub};

/// A function of a value and a constant, and whether the constant comes first.
type Link = (Binary, bool);

fn chain(net: &mut Net, x: TensorId, links: &[Link]) -> TensorId {
    links.iter().fold(x, |y, &(binary, first)| {
        let c = net.weights(&[6]);
        if first { net.binary(binary, c, y) } else { net.binary(binary, y, c) }
    })
}

fn chained(links: &[Link]) -> Graph {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = chain(&mut net, x, links);
    net.finish(&[y])
}

#[test]
fn chains_become_a_product_and_a_sum() {
    let cases: [(&[Link], &[&str]); 8] = [
        (&[(Mul, false), (Mul, true)], &["MUL"]),
        (&[(Div, false), (Mul, true)], &["MUL"]),
        (&[(Add, false), (Sub, false)], &["ADD"]),
        (&[(Mul, false), (Add, false), (Mul, false), (Add, false)], &["MUL", "ADD"]),
        (&[(Add, false), (Mul, false), (Add, true)], &["MUL", "ADD"]),
        (&[(Sub, true), (Mul, false), (Sub, true)], &["MUL", "ADD"]),
        (&[(Add, false), (Mul, false)], &["ADD", "MUL"]),
        (&[(Sub, true), (Mul, false)], &["SUB", "MUL"]),
    ];
    for (links, expected) in cases {
        let rewriting = rewritten(&chained(links), &only("affine-chain"));
        assert_eq!(ops(&rewriting.graph), expected, "{links:?}");
    }
}

/// A large angle that is rounded otherwise has another sine.
#[test]
fn chains_in_front_of_a_sine_stay() {
    for (unary, stays) in [(Unary::Sin, true), (Unary::Cos, true), (Unary::Tan, true), (Unary::Tanh, false)] {
        for moved in [false, true] {
            let mut net = Net::default();
            let x = net.input(&[1, 1, 1, 6]);
            let mut y = chain(&mut net, x, &[(Mul, false), (Div, false)]);
            if moved {
                y = net.node_to(Op::Reshape, &[y], &[1, 6, 1, 1], Act::None);
            }
            let y = net.unary(unary, y);
            let graph = net.finish(&[y]);
            let rewriting = rewritten(&graph, &only("affine-chain"));
            assert_eq!(rewriting.graph.nodes.len() == graph.nodes.len(), stays, "{unary:?}, moved: {moved}");
            if stays {
                assert_eq!(reason(&graph, "affine-chain"), SkipReason::PeriodicReader { op: unary.name() });
            }
        }
    }
}

#[test]
fn one_value_for_all_stays_one() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let [two, five] = [2.0, 5.0].map(|value| net.constant(&[1], &[value]));
    let y = net.binary(Mul, x, two);
    let y = net.binary(Mul, five, y);
    let rewriting = fires(&net.finish(&[y]), "affine-chain", 1);
    let constant = rewriting.graph.tensors[rewriting.graph.nodes[n(0)].inputs[1]].constant.clone().unwrap();
    assert_eq!(*constant.to_f32(), [10.0]);
}

#[test]
fn a_chain_read_in_between_stays() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = chain(&mut net, x, &[(Mul, false)]);
    let z = chain(&mut net, y, &[(Mul, false)]);
    assert!(matches!(reason(&net.finish(&[z, y]), "affine-chain"), SkipReason::IsOutput { .. }));

    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let c = net.weights(&[6]);
    let y = net.node_to(Op::Binary(Mul), &[x, c], &[1], Act::Unary(Unary::Tanh));
    let z = chain(&mut net, y, &[(Mul, false)]);
    assert_eq!(reason(&net.finish(&[z]), "affine-chain"), SkipReason::EpilogueTaken { op: "MUL" });
}

#[test]
fn a_chain_that_overflows_stays() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let big = net.constant(&[1], &[1e30]);
    let y = net.binary(Mul, x, big);
    let y = net.binary(Mul, y, big);
    let rewriting = texpool_model::rewrite::rewrite(&net.finish(&[y]), &only("affine-chain"));
    assert!(matches!(rewriting.report.missed[0].why, SkipReason::NotFinite { .. }));
}

/// The operator after the arithmetic.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Conv,
    Grouped,
    NoBias,
    Depthwise,
    Wider,
    FullyConnected,
    Rows,
}

const KINDS: [Kind; 7] =
    [Kind::Conv, Kind::Grouped, Kind::NoBias, Kind::Depthwise, Kind::Wider, Kind::FullyConnected, Kind::Rows];

/// A node of the kind on an operand of six channels, without padding.
fn reader(net: &mut Net, y: TensorId, kind: Kind) -> TensorId {
    let plain = Conv2d { padding: Padding::default(), ..same(3) };
    match kind {
        Kind::Conv => {
            let (weights, bias) = (net.weights(&[5, 3, 3, 6]), net.weights(&[5]));
            net.node(Op::Conv2d(plain), &[y, weights, bias])
        }
        Kind::Grouped => {
            let (weights, bias) = (net.weights(&[4, 3, 3, 3]), net.weights(&[4]));
            net.node(Op::Conv2d(Conv2d { groups: 2, ..plain }), &[y, weights, bias])
        }
        Kind::NoBias => {
            let weights = net.weights(&[5, 1, 1, 6]);
            net.node(Op::Conv2d(same(1)), &[y, weights])
        }
        Kind::Depthwise => {
            let (weights, bias) = (net.weights(&[1, 3, 3, 6]), net.weights(&[6]));
            net.node(Op::DepthwiseConv2d(DepthwiseConv2d(plain)), &[y, weights, bias])
        }
        Kind::Wider => {
            let weights = net.weights(&[1, 3, 3, 12]);
            net.node(Op::DepthwiseConv2d(DepthwiseConv2d(plain)), &[y, weights])
        }
        Kind::FullyConnected => {
            let (weights, bias) = (net.weights(&[5, 6]), net.weights(&[5]));
            net.node_to(Op::FullyConnected, &[y, weights, bias], &[16, 5], Act::None)
        }
        Kind::Rows => {
            let weights = net.weights(&[5, 24]);
            net.node_to(Op::FullyConnected, &[y, weights], &[4, 5], Act::None)
        }
    }
}

#[test]
fn every_affine_function_folds_into_every_kind_after_it() {
    for kind in KINDS {
        for link in [(Add, false), (Sub, false), (Sub, true), (Mul, true), (Div, false)] {
            let mut net = Net::default();
            let x = net.input(&[1, 4, 4, 6]);
            let y = chain(&mut net, x, &[link]);
            let z = reader(&mut net, y, kind);
            let rewriting = fires(&net.finish(&[z]), "arithmetic-ahead", 1);
            assert_eq!(rewriting.graph.nodes.len(), 1, "{kind:?} {link:?}");
        }
    }
}

#[test]
fn a_border_takes_products_and_leaves_sums() {
    let padded = |links: &[Link]| {
        let mut net = Net::default();
        let x = net.input(&[1, 4, 4, 6]);
        let y = chain(&mut net, x, links);
        let z = net.conv(y, 5, 3);
        net.finish(&[z])
    };
    assert_eq!(ops(&fires(&padded(&[(Mul, false)]), "arithmetic-ahead", 1).graph), ["CONV_2D"]);
    assert_eq!(reason(&padded(&[(Add, false)]), "arithmetic-ahead"), SkipReason::PaddedBorder { op: "CONV_2D" });
    let rewriting = fires(&padded(&[(Mul, false), (Add, true)]), "arithmetic-ahead", 1);
    assert_eq!(ops(&rewriting.graph), ["ADD", "CONV_2D"]);
}

#[test]
fn a_transposed_convolution_takes_products_alone() {
    let upsampled = |link| {
        let mut net = Net::default();
        let x = net.input(&[1, 4, 4, 6]);
        let y = chain(&mut net, x, &[link]);
        let weights = net.weights(&[5, 3, 3, 6]);
        let op = Op::TransposeConv(TransposeConv::plain([2, 2], Padding::default()));
        let z = net.node_to(op, &[y, weights], &[1, 9, 9, 5], Act::None);
        net.finish(&[z])
    };
    fires(&upsampled((Div, false)), "arithmetic-ahead", 1);
    assert_eq!(reason(&upsampled((Add, false)), "arithmetic-ahead"), SkipReason::PaddedBorder { op: "TRANSPOSE_CONV" });
}

#[test]
fn a_softmax_takes_one_positive_factor() {
    let scaled = |factors: &[f32]| {
        let mut net = Net::default();
        let x = net.input(&[1, 4, 4, 6]);
        let c = net.constant(&[factors.len()], factors);
        let y = net.binary(Mul, x, c);
        let z = net.node(Op::Softmax(Softmax { beta: 0.5, log: false }), &[y]);
        net.finish(&[z])
    };
    let rewriting = fires(&scaled(&[3.0]), "arithmetic-ahead", 1);
    assert_eq!(rewriting.graph.nodes[n(0)].op, Op::Softmax(Softmax { beta: 1.5, log: false }));
    for factors in [&[-1.0][..], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]] {
        assert!(matches!(reason(&scaled(factors), "arithmetic-ahead"), SkipReason::NotPerChannel { .. }));
    }
}

#[test]
fn a_value_that_others_read_stays() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = chain(&mut net, x, &[(Mul, false)]);
    let a = net.conv(y, 6, 1);
    let z = net.add(y, a);
    assert!(matches!(reason(&net.finish(&[z]), "arithmetic-ahead"), SkipReason::ReadElsewhere { .. }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arithmetic_around_nodes_keeps_the_answers(
        parts in prop::collection::vec((prop::collection::vec((0..5_usize, prop::bool::ANY), 0..5), 0..5_usize), 1..4),
        rules in 0..3_usize,
    ) {
        let mut net = Net::default();
        let mut y = net.input(&[1, 4, 4, 6]);
        for (links, kind) in parts {
            for (link, one) in links {
                let c = net.weights(if one { &[1] } else { &[6] });
                let (binary, first) = [(Add, false), (Sub, true), (Mul, true), (Sub, false), (Mul, false)][link];
                y = if first { net.binary(binary, c, y) } else { net.binary(binary, y, c) };
            }
            y = match kind {
                0 => net.conv(y, 6, 3),
                1 => net.conv(y, 6, 1),
                2 => net.depthwise(y),
                3 => net.unary(Unary::HardSwish, y),
                _ => net.unary(Unary::Logistic, y),
            };
        }
        let rules = match rules {
            0 => Rules::all(),
            1 => only("arithmetic-ahead"),
            _ => Rules::only(&["affine-chain", "arithmetic-ahead"]).unwrap(),
        };
        rewritten(&net.finish(&[y]), &rules);
    }
}

/// Added to a 32-bit float, this number leaves no binary digits for a fraction.
const TO_WHOLE: f32 = 12_582_912.0;

/// Exporters write rounding as the addition and subtraction of a number so large that the sum is rounded. No rule may
/// cancel the pair, whichever node does the arithmetic.
#[test]
fn numbers_that_round_on_purpose_stay() {
    let shifted = |net: &mut Net, x: TensorId, binary: Binary, value: f32| {
        let number = net.constant(&[1], &[value]);
        net.binary(binary, x, number)
    };
    let input = |values: &[f32]| vec![values.to_vec()];
    let answer = |graph: &Graph, x: &[f32]| texpool_ops::ops::reference::outputs(graph, &input(x)).unwrap().remove(0);
    let x: Vec<f32> = (0..24).map(|i| i as f32 * 0.27 - 3.0).collect();
    let whole: Vec<f32> = x.iter().map(|v| v.round_ties_even()).collect();
    for back in [(Sub, TO_WHOLE), (Add, -TO_WHOLE)] {
        let mut net = Net::default();
        let start = net.input(&[1, 2, 2, 6]);
        let y = shifted(&mut net, start, Add, TO_WHOLE);
        let y = shifted(&mut net, y, back.0, back.1);
        let graph = net.finish(&[y]);
        assert!(matches!(reason(&graph, "affine-chain"), SkipReason::RoundsOnPurpose { .. }));
        let rewritten_graph = texpool_model::rewrite::rewrite(&graph, &Rules::all()).graph;
        assert_eq!(answer(&rewritten_graph, &x), whole);
        assert_eq!(answer(&graph, &x), whole);
    }
    // Rounds to quarters, with a scaling in between.
    let mut net = Net::default();
    let start = net.input(&[1, 2, 2, 6]);
    let y = shifted(&mut net, start, Add, TO_WHOLE / 4.0);
    let y = shifted(&mut net, y, Mul, 2.0);
    let y = shifted(&mut net, y, Sub, TO_WHOLE / 2.0);
    assert!(matches!(reason(&net.finish(&[y]), "affine-chain"), SkipReason::RoundsOnPurpose { .. }));
}

#[test]
fn numbers_that_round_a_layers_result_or_operand_stay() {
    let number = |net: &mut Net, x: TensorId, binary: Binary, value: f32| {
        let number = net.constant(&[1], &[value]);
        net.binary(binary, x, number)
    };
    // After a layer: the addition is folded into the bias, and the subtraction must not be cancelled against it.
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 6, 1);
    let y = number(&mut net, y, Add, TO_WHOLE);
    let y = number(&mut net, y, Sub, TO_WHOLE);
    let rewriting = texpool_model::rewrite::rewrite(&net.finish(&[y]), &only("arithmetic"));
    assert_eq!(ops(&rewriting.graph), ["CONV_2D", "SUB"], "{}", rewriting.report);
    assert!(matches!(rewriting.report.missed[0].why, SkipReason::RoundsOnPurpose { .. }));
    // Before a layer whose bias subtracts the number again.
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = number(&mut net, x, Add, TO_WHOLE);
    let weights = net.constant(&[1, 1, 1, 6], &[1.0; 6]);
    let bias = net.constant(&[1], &[-6.0 * TO_WHOLE]);
    let y = net.node(Op::Conv2d(same(1)), &[y, weights, bias]);
    assert!(matches!(reason(&net.finish(&[y]), "arithmetic-ahead"), SkipReason::RoundsOnPurpose { .. }));
    // Inside a function that is written as several nodes.
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = number(&mut net, x, Add, TO_WHOLE);
    let y = number(&mut net, y, Sub, TO_WHOLE);
    let y = number(&mut net, y, Mul, 0.25);
    let y = net.unary(Unary::Clip { min: 0.0, max: 1.0 }, y);
    let rewriting = texpool_model::rewrite::rewrite(&net.finish(&[y]), &only("hard-activation"));
    assert!(
        !ops(&rewriting.graph).contains(&"HardSigmoid") || rewriting.graph.nodes.len() >= 3,
        "{}",
        rewriting.report
    );
}

/// Typical numbers of picture normalization and batch normalization do not round this way.
#[test]
fn numbers_of_pictures_are_folded() {
    for (first, second) in [(-127.5, 127.5), (-255.0, 255.0), (0.5, -0.5)] {
        let mut net = Net::default();
        let x = net.input(&[1, 4, 4, 6]);
        let [a, b] = [first, second].map(|value| net.constant(&[1], &[value]));
        let y = net.binary(Add, x, a);
        let y = net.binary(Add, y, b);
        let rewriting = texpool_model::rewrite::rewrite(&net.finish(&[y]), &only("affine-chain"));
        assert_eq!(rewriting.report.count("affine-chain"), 1, "{first}");
    }
}

#[test]
fn numbers_that_scale_out_of_range_and_back_stay() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let [small, large] = [1e-30, 1e30].map(|value| net.constant(&[1], &[value]));
    let y = net.binary(Mul, x, small);
    let y = net.binary(Mul, y, large);
    assert!(matches!(reason(&net.finish(&[y]), "affine-chain"), SkipReason::RoundsOnPurpose { .. }));
}
