//! A case of every operator: one that has none, or whose kernel was forgotten, is named here.

use texpool_ops::graph::{
    Binary, Cell, Concat, Conv2d, CoordMode, CumSum, DepthOrder, DepthToSpace, DepthwiseConv2d, DynamicQuantize,
    Gather, GatherElements, GridSample, Lrn, MatMul, NonMaxSuppression, Normalize, OPERATORS, Op, Pad, PadMode,
    Padding, Pool2d, PoolKind, QuantizedAdd, Reduce, ReduceKind, Resize, ResizeMode, SegmentKind, SegmentReduce,
    SeparableConv2d, Softmax, SpaceToDepth, StridedSlice, Threshold, TopK, Transpose, TransposeConv, Unary,
    WinogradInput, WinogradOutput, WinogradTile,
};

use super::{Source, case, constant, harness::Harness, placed, recurrent};
use crate::support::graphs::copy;

/// A convolution of stride, dilation and groups of one, with a border of one pixel.
const CONV: Conv2d =
    Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding { top: 1, bottom: 1, left: 1, right: 1 }, groups: 1 };

const HALF: Threshold = Threshold { value: 0.5, is_included: false };

/// An operand that is computed.
const X: [usize; 4] = [2, 4, 6, 8];

/// An operator with its operands and the extents of its result.
type Case = (Op, Vec<Source>, [usize; 4]);

fn cases() -> Vec<Case> {
    let x = || placed(X);
    vec![
        (Op::Conv2d(CONV), vec![x(), constant([5, 3, 3, 8])], [2, 4, 6, 5]),
        (Op::DepthwiseConv2d(DepthwiseConv2d(CONV)), vec![x(), constant([1, 3, 3, 8])], X),
        (
            Op::TransposeConv(TransposeConv::plain([2, 2], Padding::default())),
            vec![x(), constant([5, 2, 2, 8])],
            [2, 8, 12, 5],
        ),
        (Op::Pool2d(Pool2d::plain(PoolKind::Max, [2, 2], [2, 2], Padding::default())), vec![x()], [2, 2, 3, 8]),
        (Op::Reduce(Reduce { kind: ReduceKind::Sum, axes: [false, false, true, false] }), vec![x()], [2, 4, 1, 8]),
        (Op::Binary(Binary::Sub), vec![x(), placed([1, 1, 1, 8])], X),
        (
            Op::QuantizedAdd(QuantizedAdd::fixed([0.5, 0.25], 0.1, [-128, 127]).unwrap()),
            vec![x(), placed([1, 1, 1, 8])],
            X,
        ),
        (Op::DynamicQuantize(DynamicQuantize { from_zero: true }), vec![x(), placed([1, 1, 1, 2])], X),
        (Op::Unary(Unary::Erf), vec![x()], X),
        (Op::Pad(Pad { before: [0, 1, 0, 0], after: [0, 0, 2, 0], mode: PadMode::Edge }), vec![x()], [2, 5, 8, 8]),
        (Op::Gather(Gather { axis: 2 }), vec![x(), placed([1, 1, 1, 3])], [2, 4, 3, 8]),
        (Op::GatherElements(GatherElements { axis: 3 }), vec![x(), placed([2, 4, 6, 3])], [2, 4, 6, 3]),
        (Op::Concat(Concat { axis: 3 }), vec![x(), placed([2, 4, 6, 3])], [2, 4, 6, 11]),
        (Op::StridedSlice(StridedSlice { begin: [0, 3, 1, 0], stride: [1, -1, 2, 1] }), vec![x()], [2, 4, 2, 8]),
        (Op::Transpose(Transpose { perm: [0, 3, 1, 2] }), vec![x()], [2, 8, 4, 6]),
        (Op::DepthToSpace(DepthToSpace { block: [2, 2], order: DepthOrder::Crd }), vec![x()], [2, 8, 12, 2]),
        (Op::SpaceToDepth(SpaceToDepth { block: [2, 2] }), vec![x()], [2, 2, 3, 32]),
        (copy(0, &[(2, 192), (6, 8), (4, 48), (8, 1)]), vec![x()], [2, 6, 4, 8]),
        (
            Op::Resize(Resize { mode: ResizeMode::Linear, coords: CoordMode::HalfPixel, scale: None }),
            vec![x()],
            [2, 7, 3, 8],
        ),
        (
            Op::GridSample(GridSample { linear: true, border: false, align_corners: false }),
            vec![x(), placed([2, 3, 5, 2])],
            [2, 3, 5, 8],
        ),
        (Op::Softmax(Softmax { beta: 1.5, log: false }), vec![x()], X),
        (Op::MatMul(MatMul { transpose_b: false }), vec![x(), placed([2, 4, 8, 3])], [2, 4, 6, 3]),
        (Op::TopK(TopK { k: 3, largest: true, indices: true }), vec![x()], [2, 4, 6, 3]),
        (Op::Lrn(Lrn { size: 3, alpha: 0.5, beta: 0.75, bias: 1.0 }), vec![x()], X),
        (Op::Normalize(Normalize::variance([false, true, true, false], 1e-3)), vec![x()], X),
        (Op::CumSum(CumSum { axis: 1, exclusive: true, reverse: false }), vec![x()], X),
        (
            Op::SegmentReduce(SegmentReduce { kind: SegmentKind::Sum, sorted: false }),
            vec![x(), placed([1, 1, 1, 6])],
            [2, 4, 5, 8],
        ),
        (
            Op::Recurrent(recurrent::plain(Cell::Plain)),
            vec![placed([2, 2, 6, 8]), recurrent::weights(2, 8, 8)],
            [2, 2, 7, 8],
        ),
        (
            Op::NonMaxSuppression(NonMaxSuppression { places: 5, score: HALF, overlap: HALF, unused: [0.0; 2] }),
            vec![placed([2, 1, 40, 4]), placed([2, 3, 1, 40])],
            [2, 3, 6, 2],
        ),
        (
            Op::WinogradInput(WinogradInput { tile: WinogradTile::Two, padding: CONV.padding }),
            vec![x()],
            [2, 2, 3, 16 * 8],
        ),
        (Op::WinogradOutput(WinogradOutput { tile: WinogradTile::Two }), vec![placed([2, 2, 3, 16 * 8])], X),
        (
            Op::SeparableConv2d(SeparableConv2d { depthwise: CONV, between: Some(Unary::Relu6) }),
            vec![x(), constant([5, 1, 1, 8]), constant([1, 1, 1, 5]), constant([1, 3, 3, 8]), constant([1, 1, 1, 8])],
            [2, 4, 6, 5],
        ),
        (Op::DynamicScale, vec![x()], [1, 1, 1, 2]),
        (Op::Extremes, vec![x()], [2, 4, 6, 2]),
        (Op::FullyConnected, vec![x(), constant([1, 1, 5, 8])], [2, 4, 6, 5]),
        (Op::Locate, vec![placed([1, 4, 1, 6]), placed([1, 1, 1, 4])], [1, 1, 1, 23]),
        (Op::Prelu, vec![x(), placed([1, 1, 1, 8])], X),
        (Op::Tile, vec![x()], [2, 8, 6, 16]),
        (Op::Reshape, vec![x()], [1, 8, 8, 6]),
    ]
}

/// Guards that a new operator gets a kernel and a case of it, not only one that compiles.
#[test]
fn every_operator_agrees_with_its_reference() {
    let cases = cases();
    let variant = |(op, ..): &Case| format!("{op:?}").split(['(', ' ']).next().unwrap_or_default().to_owned();
    assert_eq!(cases.iter().map(variant).collect::<Vec<_>>(), OPERATORS);
    let mut harness = Harness::new();
    harness.every_combination();
    for (op, operands, out) in cases {
        harness.sorted(matches!(op, Op::Locate));
        case(&mut harness, op, &operands, out);
    }
}
