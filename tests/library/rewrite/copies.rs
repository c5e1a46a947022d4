//! Rules that spare copies: heads of an attention, which reshapes and transposes divide or join, products that read a
//! transposed matrix, slices of layers, frames of signals, and states that are taken apart and put together.

use texpool_model::rewrite::{Rules, SkipReason};
use texpool_ops::graph::{
    Act, Binary, Concat, Conv2d, Graph, LayoutPermutation, MatMul, Op, Padding, StridedSlice, TensorId, Transpose,
    Unary,
};

use super::support::{Net, RELU, fires, ops, reason, rewritten};

/// The rule, and the search for views.
fn divided_or_joined() -> Rules {
    Rules::only(&["heads", "views"]).unwrap()
}

const TO_HEADS: [usize; 4] = [1, 2, 0, 3];
const TO_TOKENS: [usize; 4] = [2, 0, 1, 3];

fn transpose(net: &mut Net, x: TensorId, perm: [usize; 4]) -> TensorId {
    net.node(Op::Transpose(Transpose { perm }), &[x])
}

/// `tokens` of `channels` each, divided among `heads` by a reshape and a transpose.
fn divided(net: &mut Net, x: TensorId, [tokens, heads, channels]: [usize; 3]) -> TensorId {
    let parts = net.reshape(x, &[tokens, 1, heads, channels / heads]);
    transpose(net, parts, TO_HEADS)
}

/// `relu -> heads -> tanh`.
fn between(dims: [usize; 3], middle: impl Fn(&mut Net, TensorId) -> TensorId) -> Graph {
    let mut net = Net::default();
    let x = net.input(&dims);
    let x = net.relu(x);
    let y = middle(&mut net, x);
    let z = net.unary(Unary::Tanh, y);
    net.finish(&[z])
}

#[test]
fn channels_that_are_divided_among_heads_move_no_texel() {
    let graph = between([1, 5, 24], |net, x| divided(net, x, [5, 3, 24]));
    let rewriting = fires(&graph, "heads", 1);
    assert_eq!(ops(&rewriting.graph), ["RELU", "DEPTH_TO_SPACE", "TANH"]);
    let rewriting = rewritten(&graph, &divided_or_joined());
    assert_eq!((rewriting.views.len(), rewriting.report.nodes_after), (1, 2));

    // Heads of six channels end within a texel: one step instead of two.
    let rewriting = rewritten(&between([1, 5, 18], |net, x| divided(net, x, [5, 3, 18])), &divided_or_joined());
    assert_eq!((rewriting.views.len(), rewriting.report.nodes_after), (0, 3));

    // Several images, and the heads of queries, keys and values at once.
    let images = between([2, 5, 24], |net, x| {
        let parts = net.reshape(x, &[2, 5, 3, 8]);
        transpose(net, parts, [0, 2, 1, 3])
    });
    let rewriting = rewritten(&images, &divided_or_joined());
    assert_eq!((rewriting.report.nodes_before, rewriting.report.nodes_after), (4, 2));
    let three = between([1, 5, 48], |net, x| {
        let parts = net.reshape(x, &[5, 3, 2, 8]);
        transpose(net, parts, [1, 2, 0, 3])
    });
    let rewriting = rewritten(&three, &divided_or_joined());
    assert_eq!((rewriting.report.nodes_before, rewriting.report.nodes_after), (4, 2));
}

#[test]
fn channels_of_heads_that_are_joined_move_no_texel() {
    let joined = |net: &mut Net, x: TensorId| {
        let tokens = transpose(net, x, TO_TOKENS);
        net.reshape(tokens, &[1, 1, 5, 24])
    };
    let graph = between([3, 5, 8], joined);
    let rewriting = fires(&graph, "heads", 1);
    assert_eq!(ops(&rewriting.graph), ["RELU", "SPACE_TO_DEPTH", "TANH"]);
    assert_eq!(rewritten(&graph, &divided_or_joined()).report.nodes_after, 2);
}

#[test]
fn other_orders_and_other_readers_keep_both_nodes() {
    // The channels of a head are not adjacent.
    let strided = between([1, 5, 24], |net, x| {
        let parts = net.reshape(x, &[5, 1, 8, 3]);
        transpose(net, parts, [1, 3, 0, 2])
    });
    fires(&strided, "heads", 0);
    let mut net = Net::default();
    let x = net.input(&[1, 5, 24]);
    let x = net.relu(x);
    let parts = net.reshape(x, &[5, 1, 3, 8]);
    let y = transpose(&mut net, parts, TO_HEADS);
    let z = net.relu(parts);
    assert!(matches!(reason(&net.finish(&[y, z]), "heads"), SkipReason::ReadElsewhere { .. }));
}

#[test]
fn scores_read_keys_without_a_copy() {
    let mut net = Net::default();
    let x = net.input(&[1, 5, 24]);
    let query = net.relu(x);
    let key = net.unary(Unary::Tanh, x);
    let queries = divided(&mut net, query, [5, 3, 24]);
    let keys = net.reshape(key, &[5, 1, 3, 8]);
    let keys = transpose(&mut net, keys, [1, 2, 3, 0]);
    let scores = net.node(MatMul { transpose_b: false }.into(), &[queries, keys]);
    let back = transpose(&mut net, scores, [0, 1, 3, 2]);
    let square = net.node_to(MatMul { transpose_b: true }.into(), &[scores, back], &[1, 3, 5, 5], Act::None);
    let sum = net.binary(Binary::Add, scores, square);
    let rewriting = rewritten(&net.finish(&[sum]), &Rules::default());
    assert!(rewriting.graph.nodes.iter().all(|node| !matches!(node.op, Op::Transpose(_) | Op::Reshape)));
    let products: Vec<&Op> =
        rewriting.graph.nodes.iter().map(|node| &node.op).filter(|op| op.name() == "BATCH_MATMUL").collect();
    assert_eq!(products, [&MatMul { transpose_b: true }.into(), &MatMul { transpose_b: false }.into()]);
}

/// The scale of the queries is part of the layer that computes them, though heads are divided in between.
#[test]
fn a_number_goes_past_views_into_a_layer() {
    let mut net = Net::default();
    let x = net.input(&[1, 5, 24]);
    let weights = net.weights(&[24, 24]);
    let layer = net.node_to(Op::FullyConnected, &[x, weights], &[1, 1, 5, 24], Act::None);
    let heads = divided(&mut net, layer, [5, 3, 24]);
    let scale = net.constant(&[1], &[0.25]);
    let scaled = net.binary(Binary::Mul, heads, scale);
    let z = net.unary(Unary::Softsign, scaled);
    let rewriting = rewritten(&net.finish(&[z]), &Rules::default());
    assert_eq!((rewriting.views.len(), rewriting.report.nodes_after), (1, 2));

    // A number for each channel of a head is another one for each head.
    let mut net = Net::default();
    let x = net.input(&[1, 5, 24]);
    let weights = net.weights(&[24, 24]);
    let layer = net.node_to(Op::FullyConnected, &[x, weights], &[1, 1, 5, 24], Act::None);
    let heads = divided(&mut net, layer, [5, 3, 24]);
    let scales = net.weights(&[8]);
    let scaled = net.binary(Binary::Mul, heads, scales);
    let z = net.unary(Unary::Softsign, scaled);
    rewritten(&net.finish(&[z]), &Rules::default());
}

/// Queries, keys and values of one layer: `[tokens, 3, heads, channels]`, of which each third is taken.
fn three_at_once(layer_act: Act) -> Graph {
    let mut net = Net::default();
    let x = net.input(&[1, 5, 24]);
    let weights = net.weights(&[72, 24]);
    let bias = net.weights(&[72]);
    let layer = net.node_to(Op::FullyConnected, &[x, weights, bias], &[1, 1, 5, 72], layer_act);
    let parts = net.reshape(layer, &[5, 3, 3, 8]);
    let heads = transpose(&mut net, parts, [1, 2, 0, 3]);
    let third = |net: &mut Net, which: usize| {
        let slice = StridedSlice { begin: [which, 0, 0, 0], stride: [1; 4] };
        net.node_to(slice.into(), &[heads], &[1, 3, 5, 8], Act::None)
    };
    let [query, key, value] = [0, 1, 2].map(|which| third(&mut net, which));
    let scores = net.node(MatMul { transpose_b: true }.into(), &[query, key]);
    let seen = net.node(MatMul { transpose_b: false }.into(), &[scores, value]);
    net.finish(&[seen])
}

#[test]
fn queries_keys_and_values_of_one_layer_become_three_layers() {
    let rules = Rules::only(&["heads", "layer-slices", "views"]).unwrap();
    let rewriting = rewritten(&three_at_once(Act::None), &rules);
    assert_eq!((rewriting.views.len(), rewriting.report.nodes_after), (3, 5));
    rewritten(&three_at_once(Act::Unary(Unary::Tanh)), &Rules::default());
}

#[test]
fn slices_of_channels_become_layers() {
    let sliced = |counts: &[usize], output: bool| {
        let mut net = Net::default();
        let x = net.input(&[1, 4, 4, 6]);
        let layer = net.conv(x, 10, 3);
        let mut begin = 0;
        let mut results = Vec::new();
        for &count in counts {
            let slice = StridedSlice { begin: [0, 0, 0, begin], stride: [1; 4] };
            let part = net.node_to(slice.into(), &[layer], &[1, 4, 4, count], RELU);
            results.push(part);
            begin += count;
        }
        results.extend(output.then_some(layer));
        net.finish(&results)
    };
    let rewriting = fires(&sliced(&[5, 5], false), "layer-slices", 1);
    assert_eq!(ops(&rewriting.graph), ["CONV_2D"; 2]);
    // Channels that no one takes are not computed.
    fires(&sliced(&[3, 4], false), "layer-slices", 1);
    assert!(matches!(reason(&sliced(&[5, 5], true), "layer-slices"), SkipReason::IsOutput { .. }));
    fires(&sliced(&[2; 5], false), "layer-slices", 0);
}

/// A transform of frames: a window that moves along a signal, with zeros on the left and right.
#[derive(Clone, Copy)]
struct Transform {
    samples: usize,
    channels: usize,
    window: usize,
    stride: usize,
    around: [usize; 2],
    bins: usize,
}

impl Transform {
    fn of(self, net: &mut Net, signal: TensorId) -> TensorId {
        let weights = net.weights(&[self.bins, 1, self.window, self.channels]);
        let [left, right] = self.around;
        let padding = Padding { left, right, ..Padding::default() };
        let conv = Conv2d { stride: [1, self.stride], dilation: [1, 1], padding, groups: 1 };
        net.node(Op::Conv2d(conv), &[signal, weights])
    }

    /// A transform of a signal that a reshape makes.
    fn of_reshaped(self) -> Graph {
        let mut net = Net::default();
        let x = net.input(&[1, self.samples * self.channels]);
        let x = net.relu(x);
        let signal = net.reshape(x, &[1, 1, self.samples, self.channels]);
        let spectrum = self.of(&mut net, signal);
        net.finish(&[spectrum])
    }
}

/// Six bins of a few frames, for which no step pays off.
const SMALL: Transform = Transform { samples: 40, channels: 1, window: 16, stride: 8, around: [0; 2], bins: 6 };
/// Enough bins of enough frames for steps that make whole pixels.
const LARGE: Transform = Transform { samples: 4000, channels: 1, window: 64, stride: 16, around: [0; 2], bins: 48 };

/// The last node, which is a convolution.
fn last_convolution(graph: &Graph) -> Conv2d {
    let Op::Conv2d(conv) = graph.nodes.iter().last().unwrap().op else { panic!("no convolution") };
    conv
}

#[test]
fn frames_of_a_signal_are_pixels() {
    for (transform, stride) in [
        (SMALL, 1),
        (Transform { window: 12, ..SMALL }, 2),
        (Transform { channels: 2, window: 8, ..SMALL }, 1),
        (Transform { around: [8, 3], ..SMALL }, 1),
        (Transform { around: [4, 0], ..SMALL }, 2),
    ] {
        let rewriting = fires(&transform.of_reshaped(), "frames", 1);
        assert_eq!(last_convolution(&rewriting.graph).stride, [1, stride]);
        let merged = rewritten(&transform.of_reshaped(), &Rules::only(&["frames", "reshape-chain"]).unwrap());
        assert_eq!(ops(&merged.graph), ["RELU", "RESHAPE", "CONV_2D"]);
    }
    fires(&Transform { stride: 1, ..SMALL }.of_reshaped(), "frames", 0);
    for transform in [
        Transform { window: 15, ..SMALL },
        // Adding zeros or cutting off a sample would take longer than the few bins.
        Transform { around: [3, 0], ..SMALL },
        Transform { samples: 41, ..SMALL },
    ] {
        let why = reason(&transform.of_reshaped(), "frames");
        assert_eq!(why, SkipReason::NoFrames { op: "CONV_2D" });
    }
}

#[test]
fn a_signal_of_any_length_is_cut_or_padded_to_whole_pixels() {
    for (samples, around, added) in [
        (4003, [0, 0], [0, -3]),
        // The last windows reach into the last pixel, and beyond the signal.
        (4003, [32, 45], [0, 13]),
        (4013, [0, 3], [0, 3]),
        // The zeros on the left are no whole pixel.
        (4000, [25, 0], [25, -9]),
    ] {
        let rewriting = fires(&Transform { samples, around, ..LARGE }.of_reshaped(), "frames", 1);
        assert_eq!(ops(&rewriting.graph)[2..], ["RESHAPE", "PAD", "RESHAPE", "CONV_2D"]);
        let pad = rewriting.graph.nodes.iter().find_map(|node| match node.op {
            Op::Pad(pad) => Some([pad.before, pad.after]),
            _ => None,
        });
        assert_eq!(pad, Some(added.map(|count| [0, 0, 0, count])));
        assert_eq!(last_convolution(&rewriting.graph).stride, [1, 1]);
    }
    // Pixels of four samples, of which the signal has a whole number, cost less than a cut.
    let rewriting = fires(&Transform { samples: 804, ..LARGE }.of_reshaped(), "frames", 1);
    assert_eq!(last_convolution(&rewriting.graph).stride, [1, 4]);
}

#[test]
fn real_and_imaginary_parts_read_the_same_frames_of_an_input() {
    let stereo = Transform { channels: 2, ..LARGE };
    let mut net = Net::default();
    let signal = net.input(&[1, 1, stereo.samples, stereo.channels]);
    let parts = [stereo.of(&mut net, signal), stereo.of(&mut net, signal)];
    let mut graph = net.finish(&parts);
    // The caller's samples of a channel lie together, which is no order for the frames.
    let dims = vec![1, stereo.channels, stereo.samples];
    graph.tensors[signal].host_permutation = LayoutPermutation::new(&dims, &[0, 2, 1]).unwrap();
    graph.tensors[signal].dims = dims;
    let rewriting = rewritten(&graph, &Rules::only(&["frames", "common-subexpression"]).unwrap());
    assert_eq!(rewriting.report.count("frames"), 2);
    assert_eq!(ops(&rewriting.graph), ["RESHAPE", "CONV_2D", "CONV_2D"]);

    // The same with a few frames, for which the copy of the input costs more than it saves.
    let mut net = Net::default();
    let signal = net.input(&[1, 1, SMALL.samples, 1]);
    let spectrum = SMALL.of(&mut net, signal);
    assert_eq!(reason(&net.finish(&[spectrum]), "frames"), SkipReason::NoFrames { op: "CONV_2D" });
}

#[test]
fn a_state_that_is_taken_apart_and_put_together_is_reshaped() {
    let graph = |order: [usize; 2]| {
        let mut net = Net::default();
        let state = net.input(&[2, 1, 12]);
        let state = net.relu(state);
        let row = |net: &mut Net, which: usize| {
            let slice = StridedSlice { begin: [0, which, 0, 0], stride: [1; 4] };
            net.node_to(slice.into(), &[state], &[1, 1, 1, 12], Act::None)
        };
        let rows = order.map(|which| row(&mut net, which));
        let both = net.node(Op::Concat(Concat { axis: 2 }), &rows);
        net.finish(&[both])
    };
    let rewriting = fires(&graph([0, 1]), "concat-slices", 1);
    assert!(rewriting.graph.nodes.iter().any(|node| node.op == Op::Reshape));
    fires(&graph([1, 0]), "concat-slices", 0);
    fires(&graph([0, 0]), "concat-slices", 0);
}
