//! Consecutive transposes, and masks that keep all elements or none.

use texpool_model::rewrite::{Rules, SkipReason};
use texpool_ops::graph::{Binary, Op, Transpose};

use super::support::{Net, fires, ops, reason, rewritten};
use crate::support::graphs::n;

#[test]
fn two_transposes_become_one() {
    let mut net = Net::default();
    let x = net.input(&[2, 3, 4, 5]);
    let y = net.node(Op::Transpose(Transpose { perm: [3, 0, 1, 2] }), &[x]);
    let z = net.node(Op::Transpose(Transpose { perm: [1, 0, 3, 2] }), &[y]);
    let rewriting = fires(&net.finish(&[z]), "transpose-chain", 1);
    assert_eq!(rewriting.graph.nodes[n(0)].op, Op::Transpose(Transpose { perm: [0, 3, 2, 1] }));
}

#[test]
fn a_transpose_and_its_inverse_vanish() {
    let mut net = Net::default();
    let x = net.input(&[2, 3, 4, 5]);
    let y = net.node(Op::Transpose(Transpose { perm: [0, 3, 1, 2] }), &[x]);
    let y = net.node(Op::Transpose(Transpose { perm: [0, 2, 3, 1] }), &[y]);
    let z = net.relu(y);
    assert_eq!(ops(&rewritten(&net.finish(&[z]), &Rules::all()).graph), ["RELU"]);
}

#[test]
fn a_transpose_that_is_seen_stays() {
    let mut net = Net::default();
    let x = net.input(&[2, 3, 4, 5]);
    let y = net.node(Op::Transpose(Transpose { perm: [0, 3, 1, 2] }), &[x]);
    let z = net.node(Op::Transpose(Transpose { perm: [0, 3, 1, 2] }), &[y]);
    assert!(matches!(reason(&net.finish(&[z, y]), "transpose-chain"), SkipReason::IsOutput { .. }));
}

/// `mask ? x : y` in the form that importers produce, with a constant mask.
fn chosen(mask: [f32; 2]) -> texpool_ops::graph::Graph {
    let mut net = Net::default();
    let [x, y] = [(); 2].map(|()| net.input(&[1, 4, 2, 2]));
    let mask = net.constant(&[1, 1, 1, 2], &mask);
    let a = net.binary(Binary::ZeroUnless, mask, x);
    let b = net.binary(Binary::ZeroIf, mask, y);
    let z = net.add(a, b);
    let z = net.unary(texpool_ops::graph::Unary::Tanh, z);
    net.finish(&[z])
}

#[test]
fn a_mask_of_one_value_chooses_once_and_for_all() {
    for mask in [[1.0, -2.0], [0.0, 0.0]] {
        let rewriting = rewritten(&chosen(mask), &Rules::all());
        assert_eq!(ops(&rewriting.graph), ["TANH"], "{mask:?}");
    }
    let rewriting = rewritten(&chosen([1.0, 0.0]), &Rules::all());
    assert_eq!(ops(&rewriting.graph), ["SELECT_V2", "SELECT_V2", "ADD"]);
}

#[test]
fn zeros_that_go_out_are_computed() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 2, 2]);
    let mask = net.constant(&[1], &[0.0]);
    let y = net.binary(Binary::ZeroUnless, mask, x);
    assert!(matches!(reason(&net.finish(&[y]), "mask"), SkipReason::IsOutput { .. }));
}
