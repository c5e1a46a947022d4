//! Matrix products with constants.

use texpool_model::rewrite::{Rules, SkipReason};
use texpool_ops::graph::{Act, MatMul, Op, Unary};

use super::support::{Net, ops, reason, rewritten};
use crate::support::graphs::n;

#[test]
fn a_product_by_a_constant_becomes_a_layer_and_takes_its_bias_and_activation() {
    for (transpose_b, dims) in [(false, [6, 10]), (true, [10, 6])] {
        let mut net = Net::default();
        let x = net.input(&[2, 3, 5, 6]);
        let matrix = net.weights(&dims);
        let y = net.node(Op::MatMul(MatMul { transpose_b }), &[x, matrix]);
        let bias = net.weights(&[10]);
        let y = net.add(bias, y);
        let z = net.unary(Unary::Gelu, y);
        let rewriting = rewritten(&net.finish(&[z]), &Rules::all());
        assert_eq!(ops(&rewriting.graph), ["FULLY_CONNECTED"]);
        assert_eq!(rewriting.graph.nodes[n(0)].epilogue.first, Act::Unary(Unary::Gelu));
        assert_eq!(rewriting.graph.nodes[n(0)].inputs.len(), 3);
    }
}

#[test]
fn a_product_of_computed_or_many_matrices_stays() {
    let mut net = Net::default();
    let [a, b] = [net.input(&[1, 2, 5, 6]), net.input(&[1, 2, 6, 4])];
    let y = net.node(Op::MatMul(MatMul { transpose_b: false }), &[a, b]);
    assert!(matches!(reason(&net.finish(&[y]), "linear"), SkipReason::NotConstant { .. }));
    let mut net = Net::default();
    let a = net.input(&[1, 2, 5, 6]);
    let b = net.weights(&[1, 2, 6, 4]);
    let y = net.node(Op::MatMul(MatMul { transpose_b: false }), &[a, b]);
    assert!(matches!(reason(&net.finish(&[y]), "linear"), SkipReason::ShapeMismatch { .. }));
}
