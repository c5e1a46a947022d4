//! Convolutions as Winograd's algorithm: the answers, the places where it applies, and what it leaves.

use texpool_model::rewrite::{Rules, SkipReason, rewrite};
use texpool_ops::graph::{Act, Epilogue, Op, Requantization, Requantize, Shape, Tensor, WinogradTile};

use super::support::{Net, RELU, ops, rewritten, same};
use crate::support::graphs::n;

fn winograd() -> Rules {
    Rules::default().with(&["winograd"]).unwrap()
}

/// The size of the tiles of a convolution of an image, `None` if it stays.
fn tile_of(dims: [usize; 4], channels: usize) -> Option<WinogradTile> {
    let mut net = Net::default();
    let x = net.input(&dims);
    let y = net.conv(x, channels, 3);
    let rewriting = rewritten(&net.finish(&[y]), &winograd());
    let nodes = &rewriting.graph.nodes;
    match &nodes[n(0)].op {
        Op::WinogradInput(transform) => {
            assert_eq!(ops(&rewriting.graph), ["WINOGRAD_INPUT", "CONV_2D", "WINOGRAD_OUTPUT"]);
            assert_eq!(rewriting.report.count("winograd"), 1);
            assert!(nodes.iter().all(|node| node.op_index == 0));
            Some(transform.tile)
        }
        _ => {
            assert_eq!(ops(&rewriting.graph), ["CONV_2D"]);
            None
        }
    }
}

#[test]
fn images_take_tiles_by_their_size() {
    assert_eq!(tile_of([1, 28, 28, 64], 64), Some(WinogradTile::Four));
    assert_eq!(tile_of([2, 29, 31, 68], 64), Some(WinogradTile::Four));
    assert_eq!(tile_of([1, 27, 28, 64], 80), Some(WinogradTile::Two));
    assert_eq!(tile_of([3, 1, 5, 64], 64), Some(WinogradTile::Two));
}

#[test]
fn few_channels_stay_a_convolution() {
    for [input, output] in [[60, 64], [64, 48], [66, 64], [64, 72]] {
        assert_eq!(tile_of([1, 8, 8, input], output), None);
    }
    let mut net = Net::default();
    let x = net.input(&[1, 8, 8, 3]);
    let y = net.conv(x, 32, 3);
    let report = rewrite(&net.finish(&[y]), &winograd()).report;
    assert_eq!(report.missed[0].why, SkipReason::NotWorthTransforming { channels: [3, 32] });
}

/// The transforms would round sums of integers.
#[test]
fn sums_of_integers_stay_exact() {
    let mut net = Net::default();
    let x = net.input(&[1, 8, 8, 64]);
    let y = net.conv(x, 64, 3);
    let mut graph = net.finish(&[y]);
    let shape = Shape::new(1, 1, Requantize::ROWS, 64);
    let constant = Some(Requantize::float(&[(0, 0.001); 64]));
    let factors = graph.tensors.push(Tensor { constant, ..Tensor::new("factors", shape) });
    let act = Requantize { factors, arithmetic: Requantization::Float, least: -128, most: 127 };
    graph.nodes[n(0)].epilogue = Epilogue::of(Act::Requantize(act));
    let rewriting = rewritten(&graph, &winograd());
    assert_eq!(ops(&rewriting.graph), ["CONV_2D"]);
    assert_eq!(rewriting.report.missed[0].why, SkipReason::ExactSums);
}

/// Strides, dilation and other windows have no transform, and are not worth a reason.
#[test]
fn other_convolutions_stay() {
    let mut net = Net::default();
    let x = net.input(&[1, 12, 12, 64]);
    let a = net.conv(x, 64, 5);
    let weights = net.weights(&[64, 3, 3, 64]);
    let b = net.node(Op::Conv2d(texpool_ops::graph::Conv2d { stride: [2, 2], ..same(3) }), &[a, weights]);
    let c = net.depthwise(b);
    let rewriting = rewritten(&net.finish(&[c]), &winograd());
    assert_eq!(ops(&rewriting.graph), ["CONV_2D", "CONV_2D", "DEPTHWISE_CONV_2D"]);
    assert!(rewriting.report.missed.iter().all(|missed| missed.rule != "winograd"));
}

/// The transform back has the epilogue of the convolution, and only replaced weights are freed.
#[test]
fn epilogues_move_and_shared_weights_stay() {
    let mut net = Net::default();
    let x = net.input(&[1, 9, 8, 64]);
    let weights = net.weights(&[64, 3, 3, 64]);
    let a = net.node_to(Op::Conv2d(same(3)), &[x, weights], &[1, 9, 8, 64], RELU);
    let strided = texpool_ops::graph::Conv2d { stride: [2, 2], ..same(3) };
    let b = net.node(Op::Conv2d(strided), &[a, weights]);
    let own = net.weights(&[64, 3, 3, 64]);
    let c = net.node(Op::Conv2d(same(3)), &[a, own]);
    let c = net.add(c, a);
    let rewriting = rewritten(&net.finish(&[b, c]), &winograd());
    let graph = &rewriting.graph;
    assert!(graph.is_constant(weights) && !graph.is_constant(own));
    let backs: Vec<_> = graph.nodes.iter().filter(|node| matches!(node.op, Op::WinogradOutput(_))).collect();
    assert_eq!(backs[0].epilogue.first, RELU);
    assert_eq!(backs[1].epilogue.add, Some(a));
}

#[test]
fn only_its_name_turns_it_on() {
    let mut net = Net::default();
    let x = net.input(&[1, 28, 28, 64]);
    let y = net.conv(x, 64, 3);
    let graph = net.finish(&[y]);
    assert_eq!(ops(&rewrite(&graph, &Rules::default()).graph), ["CONV_2D"]);
    assert_eq!(ops(&rewrite(&graph, &Rules::all()).graph), ["CONV_2D"]);
    assert_eq!(ops(&rewrite(&graph, &Rules::only(&["winograd"]).unwrap()).graph).len(), 3);
}
