//! Nodes that compute nothing.

use texpool_model::rewrite::SkipReason;
use texpool_ops::graph::{
    Act, Binary, Concat, CoordMode, DepthOrder, DepthToSpace, Op, Pad, PadMode, Padding, Pool2d, PoolKind, Reduce,
    ReduceKind, Resize, ResizeMode, SpaceToDepth, StridedSlice, Transpose, Unary,
};

use super::support::{Net, RELU, fires, ops, reason};
use crate::support::graphs::n;

const DIMS: [usize; 4] = [1, 3, 4, 5];

/// Every kind of node whose result equals its operand, between two nodes that compute.
#[test]
fn each_kind_is_taken_out() {
    let pool = |kind| Op::Pool2d(Pool2d::plain(kind, [1, 1], [1, 1], Padding::default()));
    let one_operand = [
        Op::Reshape,
        Op::Resize(Resize {
            mode: ResizeMode::nearest_in(CoordMode::AlignCorners),
            coords: CoordMode::AlignCorners,
            scale: None,
        }),
        Op::Pad(Pad { before: [0; 4], after: [0; 4], mode: PadMode::Constant(3.0) }),
        Op::Concat(Concat { axis: 2 }),
        Op::StridedSlice(StridedSlice { begin: [0; 4], stride: [1; 4] }),
        Op::StridedSlice(StridedSlice { begin: [0; 4], stride: [-1, 1, 1, 1] }),
        Op::Transpose(Transpose { perm: [0, 1, 2, 3] }),
        Op::DepthToSpace(DepthToSpace { block: [1, 1], order: DepthOrder::Dcr }),
        Op::SpaceToDepth(SpaceToDepth { block: [1, 1] }),
        Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: [true, false, false, false] }),
        pool(PoolKind::Max),
        pool(PoolKind::Average),
    ];
    for op in one_operand {
        let mut net = Net::default();
        let x = net.input(&DIMS);
        let x = net.relu(x);
        let y = net.node_to(op, &[x], &DIMS, Act::None);
        let z = net.unary(Unary::Tanh, y);
        let rewriting = fires(&net.finish(&[z]), "identity", 1);
        assert_eq!(ops(&rewriting.graph), ["RELU", "TANH"]);
    }
}

/// Zero times an infinite neighbour is NaN, so this is a separate rule.
#[test]
fn a_linear_resize_to_the_same_size_is_taken_out_but_not_by_an_exact_rule() {
    let mut net = Net::default();
    let x = net.input(&DIMS);
    let x = net.relu(x);
    let resize = Op::Resize(Resize { mode: ResizeMode::Linear, coords: CoordMode::HalfPixel, scale: None });
    let y = net.node_to(resize, &[x], &DIMS, Act::None);
    let graph = net.finish(&[y]);
    assert_eq!(ops(&fires(&graph, "same-size", 1).graph), ["RELU"]);
    assert_eq!(fires(&graph, "identity", 0).graph.nodes.len(), 2);
}

#[test]
fn neutral_constants_are_taken_out_on_the_sides_where_they_are() {
    use Binary::{Add, Div, Mul, Sub};
    let cases = [
        (Add, 0.0, false, true),
        (Add, 0.0, true, true),
        (Sub, 0.0, false, true),
        (Sub, 0.0, true, false),
        (Mul, 1.0, false, true),
        (Mul, 1.0, true, true),
        (Div, 1.0, false, true),
        (Div, 1.0, true, false),
        (Add, 1.0, false, false),
        (Mul, 0.0, false, false),
    ];
    for (binary, value, constant_first, neutral) in cases {
        let mut net = Net::default();
        let x = net.input(&DIMS);
        let x = net.unary(Unary::Exp, x);
        let c = net.constant(&[5], &[value; 5]);
        let y = if constant_first { net.binary(binary, c, x) } else { net.binary(binary, x, c) };
        let z = net.relu(y);
        let rewriting = fires(&net.finish(&[z]), "identity", usize::from(neutral));
        assert_eq!(rewriting.graph.nodes.len(), if neutral { 2 } else { 3 }, "{binary:?} {value} {constant_first}");
    }
}

#[test]
fn nodes_with_an_effect_stay() {
    let cases = [
        (Op::Reshape, vec![1, 4, 3, 5]),
        (Op::Resize(Resize { mode: ResizeMode::Linear, coords: CoordMode::HalfPixel, scale: None }), vec![1, 3, 8, 5]),
        (Op::Transpose(Transpose { perm: [0, 2, 1, 3] }), vec![1, 4, 3, 5]),
        (Op::StridedSlice(StridedSlice { begin: [0; 4], stride: [1, 1, 1, -1] }), vec![1, 3, 4, 1]),
        (Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: [false, true, false, false] }), vec![1, 1, 4, 5]),
    ];
    for (op, dims) in cases {
        let mut net = Net::default();
        let x = net.input(&DIMS);
        let y = net.node_to(op, &[x], &dims, Act::None);
        assert!(fires(&net.finish(&[y]), "identity", 0).report.missed.is_empty());
    }
}

#[test]
fn a_broadcast_by_a_neutral_constant_stays() {
    let mut net = Net::default();
    let x = net.input(&[1, 1, 1, 5]);
    let c = net.constant(&[1, 3, 4, 5], &[0.0; 60]);
    let y = net.add(x, c);
    fires(&net.finish(&[y]), "identity", 0);
}

#[test]
fn an_output_is_written_by_the_node_before() {
    let mut net = Net::default();
    let x = net.input(&[1, 1, 1, 7]);
    let a = net.relu(x);
    let b = net.relu(a);
    let y = net.reshape(a, &[1, 7]);
    let rewriting = fires(&net.finish(&[y, b]), "identity", 1);
    assert_eq!(rewriting.graph.nodes[n(0)].output, y);
    assert_eq!(rewriting.graph.nodes[n(1)].inputs, [y]);
}

#[test]
fn a_copy_stays_between_an_input_and_an_output() {
    let mut net = Net::default();
    let x = net.input(&[1, 1, 1, 7]);
    let y = net.reshape(x, &[1, 7]);
    let why = reason(&net.finish(&[y]), "identity");
    assert_eq!(why, SkipReason::MustCopy { first: "t0".into(), second: "t1".into() });

    let mut net = Net::default();
    let x = net.input(&[1, 1, 1, 7]);
    let a = net.relu(x);
    let y = net.reshape(a, &[1, 7]);
    assert!(matches!(reason(&net.finish(&[a, y]), "identity"), SkipReason::MustCopy { .. }));
}

#[test]
fn a_node_with_an_activation_stays() {
    let mut net = Net::default();
    let x = net.input(&DIMS);
    let zero = net.constant(&[1], &[0.0]);
    let y = net.node_to(Op::Binary(Binary::Add), &[x, zero], &DIMS, RELU);
    assert_eq!(reason(&net.finish(&[y]), "identity"), SkipReason::EpilogueTaken { op: "ADD" });
}
