//! Chains of nodes that only move values.

use proptest::prelude::*;
use texpool_model::rewrite::Rules;
use texpool_ops::graph::{
    Act, DepthOrder, DepthToSpace, Graph, Op, Shape, SpaceToDepth, StridedSlice, TensorId, Transpose, Unary,
};

use super::support::{Net, fires, only, ops, rewritten};
use crate::support::graphs::n;

const TURNED: Op = Op::Transpose(Transpose { perm: [0, 2, 1, 3] });

fn slice(channel: usize) -> Op {
    Op::StridedSlice(StridedSlice { begin: [0, 0, 0, channel], stride: [1; 4] })
}

/// Moves of an image into windows of 7 x 7 pixels.
fn windows(net: &mut Net, image: TensorId) -> TensorId {
    let split = net.reshape(image, &[2, 7, 3, 7 * 6]);
    let turned = net.node(TURNED, &[split]);
    net.reshape(turned, &[1, 6, 49, 6])
}

#[test]
fn a_division_into_windows_is_one_copy() {
    let mut net = Net::default();
    let x = net.input(&[1, 14, 21, 6]);
    let image = net.unary(Unary::Tanh, x);
    let y = windows(&mut net, image);
    let z = net.unary(Unary::Tanh, y);
    let rewriting = fires(&net.finish(&[z]), "move-chain", 2);
    assert_eq!(ops(&rewriting.graph), ["TANH", "REARRANGE", "TANH"]);
    let Op::Rearrange(copy) = &rewriting.graph.nodes[n(1)].op else { panic!("not a copy") };
    assert_eq!(copy.axes.iter().map(|axis| axis.extent).collect::<Vec<_>>(), [2, 3, 7, 42]);
}

/// Moves that undo each other leave a reshape, or nothing.
#[test]
fn moves_that_undo_each_other_are_a_reshape() {
    let mut net = Net::default();
    let x = net.input(&[1, 14, 21, 6]);
    let image = net.unary(Unary::Tanh, x);
    let there = windows(&mut net, image);
    let split = net.reshape(there, &[2, 3, 7, 42]);
    let turned = net.node(TURNED, &[split]);
    let flat = net.reshape(turned, &[1, 1, 294, 6]);
    let y = net.unary(Unary::Tanh, flat);
    let rewriting = rewritten(&net.finish(&[y]), &only("move-chain"));
    assert_eq!(ops(&rewriting.graph), ["TANH", "RESHAPE", "TANH"]);
}

/// The first values of a list are a copy, not a reshape: they are fewer.
#[test]
fn the_beginning_of_a_list_is_a_copy() {
    let mut net = Net::default();
    let x = net.input(&[1, 2, 5, 6]);
    let scores = net.unary(Unary::Tanh, x);
    let list = net.reshape(scores, &[1, 1, 1, 60]);
    let first = net.node_to(slice(0), &[list], &[1, 1, 1, 20], Act::None);
    let pairs = net.reshape(first, &[1, 1, 10, 2]);
    let y = net.unary(Unary::Tanh, pairs);
    let rewriting = fires(&net.finish(&[y]), "move-chain", 2);
    assert_eq!(ops(&rewriting.graph), ["TANH", "REARRANGE", "TANH"]);
}

/// Queries, keys and values are slices of one reshape. Each becomes a copy of the layer's result.
#[test]
fn several_readers_each_take_the_move() {
    let mut net = Net::default();
    let x = net.input(&[1, 1, 10, 24]);
    let all = net.unary(Unary::Tanh, x);
    let split = net.reshape(all, &[10, 1, 3, 8]);
    let parts = [0, 1, 2].map(|part| {
        let op = Op::StridedSlice(StridedSlice { begin: [0, 0, part, 0], stride: [1; 4] });
        let part = net.node_to(op, &[split], &[10, 1, 1, 8], Act::None);
        net.unary(Unary::Tanh, part)
    });
    let graph = net.finish(&parts);
    let rewriting = rewritten(&graph, &Rules::only(&["move-chain", "dead"]).unwrap());
    assert_eq!(ops(&rewriting.graph), ["TANH", "REARRANGE", "TANH", "REARRANGE", "TANH", "REARRANGE", "TANH"]);
}

#[test]
fn chains_end_where_something_else_reads() {
    let chain = |act: Act, is_output: bool, is_read: bool| {
        let mut net = Net::default();
        let x = net.input(&[1, 4, 6, 5]);
        let first = net.node_to(Op::Transpose(Transpose { perm: [0, 3, 1, 2] }), &[x], &[1; 4], act);
        let second = net.node(TURNED, &[first]);
        let mut outputs = vec![second];
        outputs.extend(is_output.then_some(first));
        if is_read {
            outputs.push(net.unary(Unary::Tanh, first));
        }
        net.finish(&outputs)
    };
    fires(&chain(Act::None, false, false), "move-chain", 1);
    fires(&chain(Act::Unary(Unary::Relu), false, false), "move-chain", 0);
    fires(&chain(Act::None, true, false), "move-chain", 0);
    fires(&chain(Act::None, false, true), "move-chain", 0);
}

/// An axis that is no product of the axes before cannot be followed.
#[test]
fn axes_that_do_not_divide_stay() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 6, 5]);
    let first = net.node(TURNED, &[x]);
    let split = net.reshape(first, &[1, 5, 8, 3]);
    let second = net.node(TURNED, &[split]);
    let rewriting = fires(&net.finish(&[second]), "move-chain", 1);
    assert_eq!(ops(&rewriting.graph), ["REARRANGE", "TRANSPOSE"]);
}

/// Adds a move to the net, if it fits.
fn grow(net: &mut Net, x: TensorId, (kind, a, b): (usize, usize, usize)) -> Option<TensorId> {
    let Shape { b: batch, h, w, c } = net.shape(x);
    let extents = [batch, h, w, c];
    let dims = net.shape(x).dims();
    let divisor = |n: usize, choice: usize| {
        let all: Vec<usize> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
        all[choice % all.len()]
    };
    Some(match kind {
        0 | 1 => {
            let (axis, part) = (a % 4, divisor(extents[a % 4], b));
            let mut to = dims;
            to[axis] /= part;
            to[(axis + 1 + b % 3) % 4] *= part;
            net.reshape(x, &to)
        }
        2 | 3 => {
            let mut perm = [0, 1, 2, 3];
            perm.swap(a % 4, b % 4);
            perm.swap(b % 3, a % 3);
            net.node(Op::Transpose(Transpose { perm }), &[x])
        }
        4 => {
            let axis = a % 4;
            let (mut begin, mut stride, mut to) = ([0; 4], [1; 4], dims);
            to[axis] = 1 + b % extents[axis];
            begin[axis] = a / 4 % (extents[axis] - to[axis] + 1);
            if b.is_multiple_of(2) {
                (begin[axis], stride[axis]) = (extents[axis] - 1, -1);
            }
            net.node_to(Op::StridedSlice(StridedSlice { begin, stride }), &[x], &to, Act::None)
        }
        5 => {
            let block = [divisor(h, a), divisor(w, b)];
            net.node(Op::SpaceToDepth(SpaceToDepth { block }), &[x])
        }
        6 => {
            let rows = divisor(c, a);
            let order = if b.is_multiple_of(2) { DepthOrder::Dcr } else { DepthOrder::Crd };
            net.node(Op::DepthToSpace(DepthToSpace { block: [rows, divisor(c / rows, b)], order }), &[x])
        }
        7 if net.shape(x).len() <= 500 => {
            let mut to = dims;
            to[a % 4] *= 2;
            net.node_to(Op::Tile, &[x], &to, Act::None)
        }
        _ => return None,
    })
}

fn chain(moves: &[(usize, usize, usize)]) -> Graph {
    let mut net = Net::default();
    let x = net.input(&[2, 6, 4, 12]);
    let mut y = net.unary(Unary::Tanh, x);
    for &draw in moves {
        y = grow(&mut net, y, draw).unwrap_or(y);
    }
    let z = net.unary(Unary::Tanh, y);
    net.finish(&[z])
}

proptest! {
    /// `rewritten` compares the answers.
    #[test]
    fn random_chains_keep_their_answers(moves in prop::collection::vec((0usize..8, 0usize..64, 0usize..64), 1..7)) {
        let graph = chain(&moves);
        let rewriting = rewritten(&graph, &only("move-chain"));
        prop_assert!(rewriting.graph.nodes.len() <= graph.nodes.len());
    }
}

/// Random chains would test nothing if few of them merged.
#[test]
fn most_random_chains_merge() {
    let draws = (0..200usize).map(|i| [(i * 5 % 8, i, i / 3), (i / 8 % 8, i / 5, i * 7), (i * 3 % 7, i / 2, i)]);
    let merged = draws.filter(|moves| rewritten(&chain(moves), &only("move-chain")).report.count("move-chain") > 0);
    assert!(merged.count() > 100);
}

/// A slice in the middle of an axis begins where its element is.
#[test]
fn slices_of_slices_add_up() {
    let mut net = Net::default();
    let x = net.input(&[1, 3, 5, 16]);
    let first = net.node_to(slice(5), &[x], &[1, 3, 5, 11], Act::None);
    let second = net.node_to(slice(2), &[first], &[1, 3, 5, 4], Act::None);
    let rewriting = fires(&net.finish(&[second]), "move-chain", 1);
    let Op::Rearrange(copy) = &rewriting.graph.nodes[n(0)].op else { panic!("not a copy") };
    assert_eq!((copy.offset, copy.axes.len()), (7, 2));
}
