//! Reshapes: chains of reshapes, transposes equivalent to a reshape, reshapes that a fully connected node does not
//! need, and views.

use texpool_model::rewrite::{Rules, SkipReason};
use texpool_ops::graph::{Act, Graph, Op, Transpose, Unary};

use super::support::{Net, fires, only, ops, reason, rewritten};
use crate::support::graphs::n;

/// `relu -> nodes -> tanh`, each node given by its operator and extents.
fn between(dims: &[usize], nodes: &[(Op, &[usize])]) -> Graph {
    let mut net = Net::default();
    let x = net.input(dims);
    let mut y = net.relu(x);
    for (op, dims) in nodes {
        y = net.node_to(op.clone(), &[y], dims, Act::None);
    }
    let z = net.unary(Unary::Tanh, y);
    net.finish(&[z])
}

#[test]
fn a_chain_becomes_one() {
    let chain: [(Op, &[usize]); 3] = [(Op::Reshape, &[24]), (Op::Reshape, &[2, 12]), (Op::Reshape, &[3, 8])];
    let rewriting = fires(&between(&[2, 3, 4], &chain), "reshape-chain", 2);
    assert_eq!(ops(&rewriting.graph), ["RELU", "RESHAPE", "TANH"]);

    let mut net = Net::default();
    let x = net.input(&[2, 3, 4]);
    let y = net.reshape(x, &[24]);
    let z = net.reshape(y, &[12, 2]);
    assert!(matches!(reason(&net.finish(&[y, z]), "reshape-chain"), SkipReason::IsOutput { .. }));
}

#[test]
fn a_transpose_past_ones_is_a_reshape() {
    let graph = between(&[1, 3, 1, 4], &[(Op::Transpose(Transpose { perm: [2, 0, 3, 1] }), &[1, 1, 4, 3])]);
    fires(&graph, "transpose-as-reshape", 0);
    let graph = between(&[1, 3, 1, 4], &[(Op::Transpose(Transpose { perm: [2, 1, 3, 0] }), &[1, 3, 4, 1])]);
    let rewriting = fires(&graph, "transpose-as-reshape", 1);
    assert_eq!(ops(&rewriting.graph), ["RELU", "RESHAPE", "TANH"]);
}

#[test]
fn a_fully_connected_node_reads_what_a_reshape_would_have_copied() {
    let rows = |dims: &[usize], rows: usize| {
        let mut net = Net::default();
        let x = net.input(dims);
        let x = net.relu(x);
        let y = net.reshape(x, &[rows, 24 / rows]);
        let weights = net.weights(&[5, 24 / rows]);
        let z = net.node_to(Op::FullyConnected, &[y, weights], &[rows, 5], Act::None);
        net.finish(&[z])
    };
    let flat = |dims: &[usize]| rows(dims, 1);
    let rewriting = fires(&flat(&[1, 2, 2, 6]), "flatten", 1);
    fires(&rows(&[1, 2, 2, 6], 2), "flatten", 1);
    assert_eq!(reason(&rows(&[1, 2, 2, 6], 3), "flatten"), SkipReason::SeveralRows);
    assert_eq!(ops(&rewriting.graph), ["RELU", "FULLY_CONNECTED"]);
    fires(&flat(&[1, 1, 1, 24]), "flatten", 0);
    assert_eq!(rewritten(&flat(&[1, 6, 1, 4]), &Rules::all()).views.len(), 1);
}

#[test]
fn a_reshape_whose_texels_lie_right_is_a_view() {
    let rewriting = rewritten(&between(&[1, 4, 5, 4], &[(Op::Reshape, &[1, 80])]), &only("views"));
    assert_eq!(rewriting.views.iter().collect::<Vec<_>>(), [n(1)]);
    assert_eq!((rewriting.graph.nodes.len(), rewriting.report.nodes_after), (3, 2));

    let why = reason(&between(&[1, 4, 5, 6], &[(Op::Reshape, &[1, 120])]), "views");
    assert_eq!(why, SkipReason::TexelsMove { op: "RESHAPE", from: "1x4x5x6".into(), to: "1x1x1x120".into() });
}

#[test]
fn inputs_and_outputs_do_not_share_texels_through_views() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 5, 4]);
    let y = net.reshape(x, &[1, 80]);
    let why = reason(&net.finish(&[y]), "views");
    assert_eq!(why, SkipReason::MustCopy { first: "t0".into(), second: "t1".into() });

    let mut net = Net::default();
    let x = net.input(&[1, 4, 5, 4]);
    let y = net.relu(x);
    let a = net.reshape(y, &[1, 80]);
    let b = net.reshape(y, &[1, 20, 1, 4]);
    let c = net.reshape(b, &[1, 80]);
    let rewriting = rewritten(&net.finish(&[a, c]), &only("views"));
    assert_eq!(
        rewriting.views.iter().collect::<Vec<_>>(),
        [n(1), n(2)],
        "the first takes the texture, the last must copy"
    );
    assert_eq!(rewriting.report.missed.len(), 1);
}

#[test]
fn a_view_of_a_constant_is_none() {
    let mut net = Net::default();
    let x = net.input(&[1, 4]);
    let c = net.weights(&[4]);
    let c = net.reshape(c, &[1, 4]);
    let z = net.add(x, c);
    assert_eq!(reason(&net.finish(&[z]), "views"), SkipReason::IsConstant { tensor: "t1".into() });
}
