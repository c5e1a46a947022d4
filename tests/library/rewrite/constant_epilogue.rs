//! Constants that the node before applies.

use texpool_model::rewrite::{Rules, SkipReason};
use texpool_ops::graph::{
    Act,
    Binary::{self, Add, Div, Mul, Sub},
    Epilogue, Graph, Normalize, Op, TensorId,
};

use super::support::{Net, fires, ops, reason, rewritten};
use crate::support::graphs::n;

/// Builds a node of two computed operands, with a function behind.
fn product_then(then: impl Fn(&mut Net, TensorId) -> TensorId) -> Graph {
    let mut net = Net::default();
    let (a, b) = (net.input(&[1, 4, 4, 6]), net.input(&[1, 4, 4, 6]));
    let y = net.binary(Mul, a, b);
    let z = then(&mut net, y);
    net.finish(&[z])
}

/// A constant on either side, with one value for all channels or one for each.
fn with_constant(binary: Binary, dims: &'static [usize], first: bool) -> Graph {
    product_then(move |net, y| {
        let c = net.weights(dims);
        if first { net.binary(binary, c, y) } else { net.binary(binary, y, c) }
    })
}

#[test]
fn sums_products_and_quotients_move() {
    for dims in [&[1][..], &[6], &[1, 1, 1, 6]] {
        for (binary, first) in [(Add, false), (Add, true), (Sub, false), (Mul, false), (Mul, true), (Div, false)] {
            let rewriting = fires(&with_constant(binary, dims, first), "constant-epilogue", 1);
            assert_eq!(ops(&rewriting.graph), ["MUL"], "{binary:?} {dims:?}");
            let act = rewriting.graph.nodes[n(0)].epilogue.first;
            let constant = act.constant().unwrap();
            let expected = match binary {
                Mul => Act::Times(constant),
                Div => Act::DividedBy(constant),
                _ => Act::Plus(constant),
            };
            assert_eq!(act, expected);
            assert_eq!(rewriting.graph.shape(constant).len(), 6);
        }
    }
}

#[test]
fn constants_along_other_axes_and_dividends_stay() {
    for (binary, first) in [(Sub, true), (Div, true), (Binary::Maximum, false)] {
        let rewriting = fires(&with_constant(binary, &[6], first), "constant-epilogue", 0);
        assert_eq!(rewriting.graph.nodes.len(), 2, "{binary:?}");
    }
    let why = reason(&with_constant(Add, &[4, 1], false), "constant-epilogue");
    assert!(matches!(why, SkipReason::NotPerChannel { .. }), "{why:?}");
    // A result with more extents than the computed operand.
    let mut net = Net::default();
    let x = net.input(&[1, 1, 1, 6]);
    let y = net.unary(texpool_ops::graph::Unary::Exp, x);
    let c = net.weights(&[1, 4, 4, 6]);
    let z = net.binary(Add, y, c);
    let why = reason(&net.finish(&[z]), "constant-epilogue");
    assert!(matches!(why, SkipReason::ShapeMismatch { .. }), "{why:?}");
}

/// Scale and shift of a normalisation are one step with it, after which there is no room.
#[test]
fn a_normalisation_takes_scale_and_shift() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.node(Op::Normalize(Normalize::variance([false, false, false, true], 1e-5)), &[x]);
    let (scale, shift, third) = (net.weights(&[6]), net.weights(&[6]), net.weights(&[6]));
    let y = net.binary(Mul, y, scale);
    let y = net.binary(Add, y, shift);
    let z = net.binary(Mul, y, third);
    let graph = net.finish(&[y, z]);
    let rewriting = fires(&graph, "constant-epilogue", 2);
    let epilogue = Epilogue { first: Act::Times(scale), add: None, then: Act::Plus(shift) };
    assert_eq!(rewriting.graph.nodes[n(0)].epilogue, epilogue);
    assert_eq!(ops(&rewriting.graph), ["MeanVarianceNormalization", "MUL"]);
}

/// Weights take constants first, and functions written out as several nodes are recognised first.
#[test]
fn other_rules_come_first() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 6, 3);
    let c = net.weights(&[6]);
    let z = net.binary(Mul, y, c);
    let rewriting = rewritten(&net.finish(&[z]), &Rules::all());
    assert_eq!((rewriting.report.count("constant-epilogue"), rewriting.graph.nodes.len()), (0, 1));
}
