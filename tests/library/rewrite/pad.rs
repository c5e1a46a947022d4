//! Zero padding around an image, moved into the operator that reads it.

use texpool_model::rewrite::{Rules, SkipReason};
use texpool_ops::graph::{Op, Pad, PadMode, Padding, Pool2d, PoolKind, TensorId};

use super::support::{Net, fires, ops, reason, rewritten};
use crate::support::graphs::n;

fn net() -> (Net, TensorId) {
    let mut net = Net::default();
    let x = net.input(&[1, 5, 6, 3]);
    (net, x)
}

fn pool(kind: PoolKind, window: usize) -> Op {
    Op::Pool2d(Pool2d::plain(kind, [window; 2], [2, 2], Padding::default()))
}

#[test]
fn all_convolutions_that_read_it_pad_by_themselves() {
    let (mut net, x) = net();
    let x = net.pad(x, [0, 1, 2, 0], [0, 0, 1, 0]);
    let a = net.conv(x, 4, 3);
    let b = net.depthwise(x);
    let rewriting = fires(&net.finish(&[a, b]), "pad", 1);
    assert_eq!(ops(&rewriting.graph), ["CONV_2D", "DEPTHWISE_CONV_2D"]);
    let Op::Conv2d(conv) = &rewriting.graph.nodes[n(0)].op else { panic!("a convolution") };
    assert_eq!(conv.padding, Padding { top: 2, bottom: 1, left: 3, right: 2 });
}

#[test]
fn one_reader_that_cannot_keeps_it_for_all() {
    let (mut net, x) = net();
    let x = net.pad(x, [0, 1, 1, 0], [0, 1, 1, 0]);
    let a = net.conv(x, 4, 3);
    let b = net.relu(x);
    assert_eq!(reason(&net.finish(&[a, b]), "pad"), SkipReason::UnsupportedNode { op: "RELU" });
}

#[test]
fn other_padding_than_zeros_in_height_and_width_stays() {
    let pads = [
        Op::Pad(Pad { before: [0, 0, 0, 1], after: [0; 4], mode: PadMode::Constant(0.0) }),
        Op::Pad(Pad { before: [0; 4], after: [1, 0, 0, 0], mode: PadMode::Constant(0.0) }),
        Op::Pad(Pad { before: [0, 1, 0, 0], after: [0; 4], mode: PadMode::Constant(1.0) }),
    ];
    for op in pads {
        let (mut net, x) = net();
        let x = net.node(op, &[x]);
        let y = net.conv(x, 4, 3);
        assert_eq!(reason(&net.finish(&[y]), "pad"), SkipReason::NotZeroPadding);
    }
}

#[test]
fn a_padded_image_that_goes_out_stays() {
    let (mut net, x) = net();
    let x = net.pad(x, [0, 1, 1, 0], [0, 1, 1, 0]);
    let y = net.conv(x, 4, 3);
    assert_eq!(reason(&net.finish(&[x, y]), "pad"), SkipReason::IsOutput { tensor: "t1".into() });
}

#[test]
fn a_padded_image_that_is_also_added_stays() {
    let (mut net, x) = net();
    let x = net.pad(x, [0, 1, 1, 0], [0, 1, 1, 0]);
    let y = net.conv(x, 3, 3);
    let z = net.add(y, x);
    let rewriting = rewritten(&net.finish(&[z]), &Rules::all());
    assert_eq!(ops(&rewriting.graph), ["PAD", "CONV_2D"]);
    assert_eq!(rewriting.report.missed[0].why, SkipReason::UnsupportedNode { op: "CONV_2D" });
}

#[test]
fn a_pool_of_the_greatest_takes_zeros_only_where_they_never_count() {
    let pooled = |kind, window: usize, border: usize, relu: bool| {
        let (mut net, mut x) = net();
        if relu {
            x = net.relu(x);
        }
        let x = net.pad(x, [0, border, border, 0], [0, border, border, 0]);
        let y = net.node(pool(kind, window), &[x]);
        net.finish(&[y])
    };
    fires(&pooled(PoolKind::Max, 3, 1, true), "pad", 1);
    assert_eq!(reason(&pooled(PoolKind::Max, 3, 1, false), "pad"), SkipReason::ZeroMayWin);
    assert_eq!(reason(&pooled(PoolKind::Max, 2, 2, true), "pad"), SkipReason::ZeroMayWin);
    let why = reason(&pooled(PoolKind::Average, 3, 1, true), "pad");
    assert_eq!(why, SkipReason::UnsupportedNode { op: "AVERAGE_POOL_2D" });
}
