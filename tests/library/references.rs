//! The CPU references against values worked out by hand or published with TensorFlow Lite's own tests.

#![cfg(test)]

use crate::support::graphs::{Source, add_tensor, copy, n, one_node};
use texpool_ops::{
    graph::{
        Act, Binary, Concat, Constant, Conv2d, CoordMode, CumSum, DepthOrder, DepthToSpace, DepthwiseConv2d, Epilogue,
        Gather, GatherElements, IdVec, Lrn, MatMul, NonMaxSuppression, Normalize, Op, Pad, PadMode, Padding, Pool2d,
        PoolKind, Reduce, ReduceKind, Resize, ResizeMode, Rounding, SegmentKind, SegmentReduce, Shape, Softmax,
        SpaceToDepth, StridedSlice, Threshold, TopK, Transpose, TransposeConv, Unary,
    },
    ops::reference::{self, ReferenceError},
};

const NO_PADDING: Padding = Padding { top: 0, bottom: 0, left: 0, right: 0 };

fn shape(dims: [usize; 4]) -> Shape {
    dims.into()
}

fn constant(dims: [usize; 4], values: &[f32]) -> Source {
    Source::Constant(dims.into(), values.to_vec())
}

/// Returns the result of `op` on one input and constants.
fn run(op: Op, dims: [usize; 4], values: &[f32], constants: &[Source], out: [usize; 4]) -> Vec<f32> {
    let mut operands = vec![Source::Input(shape(dims))];
    operands.extend_from_slice(constants);
    let graph = one_node(op, &operands, shape(out), Epilogue::default());
    let mut all = reference::graph(&graph, &[values.to_vec()]).unwrap();
    all[graph.outputs[0]].take().unwrap()
}

fn near(actual: &[f32], expected: &[f32]) {
    assert_eq!(actual.len(), expected.len());
    for (a, b) in actual.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{actual:?} is not {expected:?}");
    }
}

fn count(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

#[test]
fn a_convolution_pads_strides_and_adds_its_bias() {
    let conv = Conv2d {
        stride: [2, 2],
        dilation: [1, 1],
        padding: Padding { top: 1, bottom: 0, left: 1, right: 0 },
        groups: 1,
    };
    let weights = constant([1, 2, 2, 1], &[1.0, 10.0, 100.0, 1000.0]);
    let result =
        run(Op::Conv2d(conv), [1, 3, 3, 1], &count(9), &[weights, constant([1, 1, 1, 1], &[0.5])], [1, 2, 2, 1]);
    near(&result, &[0.5, 2100.5, 6030.5, 8754.5]);
}

#[test]
fn a_dilated_grouped_convolution_reads_its_own_channels() {
    let conv = Conv2d { stride: [1, 1], dilation: [1, 2], padding: NO_PADDING, groups: 2 };
    let weights = constant([2, 1, 2, 1], &[1.0, 10.0, 1.0, 100.0]);
    let result = run(Op::Conv2d(conv), [1, 1, 3, 2], &count(6), &[weights], [1, 1, 1, 2]);
    near(&result, &[40.0, 501.0]);
}

#[test]
fn a_depthwise_convolution_repeats_channels_by_its_multiplier() {
    let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: NO_PADDING, groups: 1 };
    let weights = constant([1, 1, 1, 4], &[1.0, 2.0, 3.0, 4.0]);
    let result = run(Op::DepthwiseConv2d(DepthwiseConv2d(conv)), [1, 1, 1, 2], &[5.0, 7.0], &[weights], [1, 1, 1, 4]);
    near(&result, &[5.0, 10.0, 21.0, 28.0]);
}

#[test]
fn a_transposed_convolution_scatters_and_cuts() {
    // `SimpleTestWithPaddingValid` of TensorFlow Lite's transpose_conv_test.cc, cut by one on the top and left.
    let conv = TransposeConv::plain([2, 2], NO_PADDING);
    let weights = constant([1, 3, 3, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    let result =
        run(Op::TransposeConv(conv), [1, 2, 2, 1], &[1.0, 2.0, 3.0, 4.0], std::slice::from_ref(&weights), [1, 5, 5, 1]);
    let full = [
        1.0, 2.0, 5.0, 4.0, 6.0, 4.0, 5.0, 14.0, 10.0, 12.0, 10.0, 14.0, 36.0, 24.0, 30.0, 12.0, 15.0, 34.0, 20.0,
        24.0, 21.0, 24.0, 55.0, 32.0, 36.0,
    ];
    near(&result, &full);
    let cut = TransposeConv::plain([2, 2], Padding { top: 1, bottom: 0, left: 1, right: 0 });
    let result = run(Op::TransposeConv(cut), [1, 2, 2, 1], &[1.0, 2.0, 3.0, 4.0], &[weights], [1, 4, 4, 1]);
    let expected: Vec<f32> = (1..5).flat_map(|y| full[y * 5 + 1..y * 5 + 5].to_vec()).collect();
    near(&result, &expected);
}

#[test]
fn a_fully_connected_layer_reads_dense_rows() {
    let weights = constant([1, 1, 2, 3], &[1.0, 2.0, 3.0, 0.0, 0.0, 1.0]);
    let bias = constant([1, 1, 1, 2], &[10.0, 20.0]);
    let result = run(Op::FullyConnected, [1, 1, 6, 1], &count(6), &[weights, bias], [1, 1, 2, 2]);
    near(&result, &[18.0, 22.0, 36.0, 25.0]);
}

#[test]
fn pools_count_only_what_lies_in_the_image() {
    let mut pool = Pool2d::plain(PoolKind::Average, [2, 2], [2, 2], Padding { top: 0, bottom: 1, left: 1, right: 0 });
    let values = [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0, -9.0];
    near(&run(Op::Pool2d(pool), [1, 3, 3, 1], &values, &[], [1, 2, 2, 1]), &[-2.5, -4.0, -7.0, -8.5]);
    pool.kind = PoolKind::Max;
    near(&run(Op::Pool2d(pool), [1, 3, 3, 1], &values, &[], [1, 2, 2, 1]), &[-1.0, -2.0, -7.0, -8.0]);
}

#[test]
fn a_mean_reduces_the_axes_it_is_told() {
    let mean = |axes| Op::Reduce(Reduce { kind: ReduceKind::Mean, axes });
    let values = count(12);
    near(&run(mean([false, true, true, false]), [1, 2, 3, 2], &values, &[], [1, 1, 1, 2]), &[5.0, 6.0]);
    near(
        &run(mean([false, false, false, true]), [1, 2, 3, 2], &values, &[], [1, 2, 3, 1]),
        &[0.5, 2.5, 4.5, 6.5, 8.5, 10.5],
    );
    near(&run(mean([true, false, true, false]), [2, 1, 3, 2], &values, &[], [1, 1, 1, 2]), &[5.0, 6.0]);
}

#[test]
fn binary_functions_repeat_extents_of_one() {
    let b = constant([1, 1, 1, 3], &[1.0, 2.0, 4.0]);
    near(&run(Op::Binary(Binary::Div), [1, 2, 1, 1], &[8.0, 4.0], &[b], [1, 2, 1, 3]), &[8.0, 4.0, 2.0, 4.0, 2.0, 1.0]);
    let b = constant([1, 2, 1, 1], &[1.0, -1.0]);
    near(&run(Op::Binary(Binary::Maximum), [1, 1, 2, 1], &[0.0, 3.0], &[b], [1, 2, 2, 1]), &[1.0, 3.0, 0.0, 3.0]);
}

#[test]
fn prelu_scales_only_below_zero() {
    let alpha = constant([1, 1, 1, 2], &[0.5, 2.0]);
    near(&run(Op::Prelu, [1, 1, 2, 2], &[1.0, -1.0, -2.0, 2.0], &[alpha], [1, 1, 2, 2]), &[1.0, -2.0, -1.0, 2.0]);
}

#[test]
fn padding_adds_elements_on_every_axis() {
    let op = Op::Pad(Pad { before: [0, 1, 0, 1], after: [0, 0, 0, 0], mode: PadMode::Constant(9.0) });
    near(&run(op, [1, 1, 2, 1], &[1.0, 2.0], &[], [1, 2, 2, 2]), &[9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 9.0, 2.0]);
}

#[test]
fn parts_follow_one_another_on_any_axis() {
    let parts = |axis, dims, out| {
        run(Op::Concat(Concat { axis }), [1, 1, 2, 1], &[1.0, 2.0], &[constant(dims, &[3.0, 4.0])], out)
    };
    near(&parts(3, [1, 1, 2, 1], [1, 1, 2, 2]), &[1.0, 3.0, 2.0, 4.0]);
    near(&parts(2, [1, 1, 2, 1], [1, 1, 4, 1]), &[1.0, 2.0, 3.0, 4.0]);
    near(&parts(1, [1, 1, 2, 1], [1, 2, 2, 1]), &[1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn slices_run_backwards_too() {
    let op = Op::StridedSlice(StridedSlice { begin: [0, 0, 2, 1], stride: [1, 1, -2, 1] });
    near(&run(op, [1, 1, 3, 2], &count(6), &[], [1, 1, 2, 1]), &[5.0, 1.0]);
}

#[test]
fn a_transpose_moves_axes() {
    let op = Op::Transpose(Transpose { perm: [0, 3, 1, 2] });
    near(&run(op, [1, 1, 2, 3], &count(6), &[], [1, 3, 1, 2]), &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
}

#[test]
fn depth_and_space_are_exchanged_and_back() {
    // `Float32` of TensorFlow Lite's depth_to_space_test.cc.
    let values = [1.4, 2.3, 3.2, 4.1];
    near(
        &run(
            Op::DepthToSpace(DepthToSpace { block: [2, 2], order: DepthOrder::Dcr }),
            [1, 1, 1, 4],
            &values,
            &[],
            [1, 2, 2, 1],
        ),
        &values,
    );
    let wide = count(16);
    let there = run(
        Op::DepthToSpace(DepthToSpace { block: [2, 2], order: DepthOrder::Dcr }),
        [1, 1, 2, 8],
        &wide,
        &[],
        [1, 2, 4, 2],
    );
    near(&there[..6], &[0.0, 1.0, 2.0, 3.0, 8.0, 9.0]);
    near(&run(Op::SpaceToDepth(SpaceToDepth { block: [2, 2] }), [1, 2, 4, 2], &there, &[], [1, 1, 2, 8]), &wide);
}

#[test]
fn copies_follow_their_strides() {
    let backwards = run(copy(5, &[(2, -3), (2, 0), (3, -1)]), [1, 1, 1, 6], &count(6), &[], [1, 1, 2, 6]);
    near(&backwards, &[5.0, 4.0, 3.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0, 2.0, 1.0, 0.0]);
}

#[test]
fn pads_mirror_repeat_and_cut() {
    let line = |mode, before, after, n: usize| {
        let op = Op::Pad(Pad { before: [0, 0, before, 0], after: [0, 0, after, 0], mode });
        run(op, [1, 1, 4, 1], &count(4), &[], [1, 1, n, 1])
    };
    near(&line(PadMode::Reflect, 3, 4, 11), &[3.0, 2.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0, 1.0, 0.0, 1.0]);
    near(&line(PadMode::Symmetric, 2, 5, 11), &[1.0, 0.0, 0.0, 1.0, 2.0, 3.0, 3.0, 2.0, 1.0, 0.0, 0.0]);
    near(&line(PadMode::Edge, 2, 1, 7), &[0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 3.0]);
    near(&line(PadMode::Wrap, 2, 5, 11), &[2.0, 3.0, 0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0, 0.0]);
    // Values are clamped before anything else.
    near(&line(PadMode::Reflect, -1, 2, 5), &[1.0, 2.0, 3.0, 2.0, 1.0]);
    near(&line(PadMode::Constant(9.0), 1, -2, 3), &[9.0, 0.0, 1.0]);
}

#[test]
fn tiles_and_lookups() {
    near(&run(Op::Tile, [1, 1, 2, 1], &[1.0, 2.0], &[], [1, 1, 4, 2]), &[1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0]);
    let indices = constant([1, 1, 1, 4], &[2.0, -1.0, 0.0, 7.0]);
    let result = run(Op::Gather(Gather { axis: 2 }), [1, 1, 3, 2], &count(6), &[indices], [1, 1, 4, 2]);
    near(&result, &[4.0, 5.0, 4.0, 5.0, 0.0, 1.0, 4.0, 5.0]);
    let indices = constant([1, 1, 2, 3], &[1.0, 0.0, -1.0, 0.0, 0.0, 1.0]);
    let result = run(Op::GatherElements(GatherElements { axis: 2 }), [1, 1, 2, 3], &count(6), &[indices], [1, 1, 2, 3]);
    near(&result, &[3.0, 1.0, 5.0, 0.0, 1.0, 5.0]);
}

#[test]
fn pools_with_dilation_and_counted_borders() {
    let pool = |kind, padding, counted| {
        let pool = Pool2d { kind, window: [1, 2], stride: [1, 2], dilation: [1, 2], padding, counted };
        run(Op::Pool2d(pool), [1, 1, 4, 1], &[3.0, -4.0, 5.0, 12.0], &[], [1, 1, 3, 1])
    };
    let around = Padding { top: 0, bottom: 0, left: 2, right: 1 };
    near(&pool(PoolKind::Max, around, None), &[3.0, 5.0, 5.0]);
    near(&pool(PoolKind::Average, around, None), &[3.0, 4.0, 5.0]);
    near(&pool(PoolKind::Average, around, Some(Padding { left: 2, ..NO_PADDING })), &[1.5, 4.0, 5.0]);
    near(&pool(PoolKind::Average, around, Some(Padding { left: 2, right: 1, ..NO_PADDING })), &[1.5, 4.0, 2.5]);
    near(&pool(PoolKind::Lp { p: 2 }, around, None), &[3.0, 34f32.sqrt(), 5.0]);
}

#[test]
fn resizes_by_the_definitions_of_onnx() {
    // `resize_downsample_scales_cubic` and others of ONNX's node tests.
    let values: Vec<f32> = (1..17).map(|i| i as f32).collect();
    let resize =
        |mode, coords, scale| run(Op::Resize(Resize { mode, coords, scale }), [1, 4, 4, 1], &values, &[], [1, 3, 3, 1]);
    let scale = Some([0.8, 0.8]);
    let cubic = ResizeMode::Cubic { a: -0.75, exclude_outside: false };
    let expected =
        [1.471_191_4, 2.781_25, 4.082_519_5, 6.711_426, 8.021_484, 9.322_754, 11.916_504, 13.226_563, 14.527_832];
    near(&resize(cubic, CoordMode::HalfPixel, scale), &expected);
    let within = ResizeMode::Cubic { a: -0.5, exclude_outside: true };
    let expected =
        [1.368_126_8, 2.669_501_4, 4.013_337, 6.573_625, 7.875, 9.218_835, 11.948_967, 13.250_341, 14.594_176];
    near(&resize(within, CoordMode::HalfPixel, scale), &expected);
    let crop = CoordMode::TfCropAndResize { start: [0.4, 0.6], end: [0.6, 0.8], extrapolation: 0.0 };
    near(&resize(ResizeMode::Linear, crop, None), &[7.6, 7.9, 8.2, 8.8, 9.1, 9.4, 10.0, 10.3, 10.6]);
    let crop = CoordMode::TfCropAndResize { start: [0.4, 0.6], end: [1.2, 1.7], extrapolation: 10.0 };
    let expected = [7.6, 10.0, 10.0, 12.4, 10.0, 10.0, 10.0, 10.0, 10.0];
    near(&resize(ResizeMode::Linear, crop, None), &expected);
    let line = |mode, coords, scale, n: usize| {
        run(
            Op::Resize(Resize { mode, coords, scale: Some([1.0, scale]) }),
            [1, 1, 4, 1],
            &values[..4],
            &[],
            [1, 1, n, 1],
        )
    };
    // The specification uses 0.6 times 4 pixels and gives 3.142857; ONNX Runtime uses the actual two pixels.
    near(&line(ResizeMode::Linear, CoordMode::AlignCorners, 0.6, 2), &[1.0, 4.0]);
    near(&line(ResizeMode::Linear, CoordMode::HalfPixelSymmetric, 0.6, 2), &[1.666_667, 3.333_333]);
    use Rounding::{Ceil, Floor, PreferCeil, PreferFloor};
    for (rounding, expected) in [
        (PreferFloor, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]),
        (PreferCeil, [1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 4.0]),
        (Floor, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]),
        (Ceil, [1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 4.0]),
    ] {
        near(&line(ResizeMode::Nearest(rounding), CoordMode::Asymmetric, 2.0, 8), &expected);
    }
}

#[test]
fn resizes_follow_the_three_conventions() {
    let resize = |mode, coords| Op::Resize(Resize { mode, coords, scale: None });
    let line = |mode, coords, n: usize| run(resize(mode, coords), [1, 1, 2, 1], &[3.0, 6.0], &[], [1, 1, n, 1]);
    near(&line(ResizeMode::Linear, CoordMode::Asymmetric, 3), &[3.0, 5.0, 6.0]);
    near(&line(ResizeMode::Linear, CoordMode::HalfPixel, 4), &[3.0, 3.75, 5.25, 6.0]);
    near(&line(ResizeMode::Linear, CoordMode::AlignCorners, 4), &[3.0, 4.0, 5.0, 6.0]);
    near(&line(ResizeMode::nearest_in(CoordMode::Asymmetric), CoordMode::Asymmetric, 3), &[3.0, 3.0, 6.0]);
    near(&line(ResizeMode::nearest_in(CoordMode::HalfPixel), CoordMode::HalfPixel, 3), &[3.0, 6.0, 6.0]);
    // Halves round away from zero.
    near(&line(ResizeMode::nearest_in(CoordMode::AlignCorners), CoordMode::AlignCorners, 3), &[3.0, 6.0, 6.0]);
}

#[test]
fn softmax_sums_to_one_over_channels() {
    // `SimpleTest` of TensorFlow Lite's softmax_test.cc has beta 0.1.
    let values = [0.0, -6.0, 2.0, 4.0, 3.0, -2.0, 10.0, 1.0];
    let result = run(Op::Softmax(Softmax { beta: 0.1, log: false }), [1, 1, 2, 4], &values, &[], [1, 1, 2, 4]);
    near(&result, &[0.23463, 0.12877, 0.28658, 0.35003, 0.22528, 0.13664, 0.45365, 0.18443]);
}

#[test]
fn an_epilogue_acts_adds_and_acts_again() {
    let dims = shape([1, 1, 2, 2]);
    let mut graph = one_node(Op::Unary(Unary::Neg), &[Source::Input(dims)], dims, Epilogue::default());
    let add = add_tensor(&mut graph, shape([1, 1, 2, 1]), None);
    graph.inputs.push(add);
    let alpha = add_tensor(&mut graph, shape([1, 1, 1, 2]), Some(Constant::from_f32(&[0.5, 0.25])));
    graph.nodes[n(0)].epilogue = Epilogue { first: Act::Unary(Unary::Relu), add: Some(add), then: Act::Prelu(alpha) };
    let values = reference::graph(&graph, &[vec![-1.0, 2.0, -3.0, -4.0], vec![10.0, -20.0]]).unwrap();
    near(values[graph.outputs[0]].as_ref().unwrap(), &[11.0, 0.0, -8.5, 4.0]);
}

#[test]
fn wrong_values_are_errors() {
    let dims = shape([1, 1, 2, 2]);
    let graph = one_node(Op::Unary(Unary::Neg), &[Source::Input(dims)], dims, Epilogue::default());
    assert!(matches!(reference::graph(&graph, &[]), Err(ReferenceError::Inputs { expected: 1, found: 0 })));
    assert!(matches!(
        reference::graph(&graph, &[vec![0.0; 3]]),
        Err(ReferenceError::Length { expected: 4, found: 3, .. })
    ));
    assert!(
        matches!(reference::node(&graph, &graph.nodes[n(0)], &IdVec::new()), Err(ReferenceError::NoValue { tensor, .. }) if tensor == graph.inputs[0])
    );
}

#[test]
fn functions_of_one_value_are_those_of_the_tables() {
    for (unary, x, expected) in [
        (Unary::Erf, 0.5, 0.520_499_9),
        (Unary::Erf, -3.0, -0.999_977_9),
        (Unary::Gelu, 1.0, 0.841_344_7),
        (Unary::GeluTanh, 1.0, 0.841_192),
        (Unary::Mish, 1.0, 0.865_098_4),
        (Unary::Softplus, 1.0, 1.313_261_7),
        (Unary::Round, 2.5, 2.0),
        (Unary::Round, -1.5, -2.0),
        (Unary::Trunc, -1.7, -1.0),
        (Unary::ToHalf, 65_520.0, f32::INFINITY),
        (Unary::ToHalf, 0.1, 0.099_975_586),
        (Unary::Selu { alpha: 1.5, gamma: 2.0 }, -1.0, -1.896_361_7),
        (Unary::Celu { alpha: 2.0 }, -1.0, -0.786_938_7),
        (Unary::HardSigmoid { alpha: 0.2, beta: 0.5 }, 1.0, 0.7),
        (Unary::Shrink { bias: 0.25, lambda: 0.5 }, -2.0, -1.75),
    ] {
        let result = run(Op::Unary(unary), [1, 1, 1, 1], &[x], &[], [1, 1, 1, 1])[0];
        assert!(
            result == expected || (result - expected).abs() <= 2e-6,
            "{unary:?} of {x} is {result}, not {expected}"
        );
    }
}

#[test]
fn functions_of_two_values_are_those_of_onnx() {
    // `test_mod_mixed_sign_int64` and `test_mod_int64_fmod` of ONNX's node tests.
    let a = [-4.0, 7.0, 5.0, 4.0, -7.0, 8.0];
    let b = constant([1, 1, 1, 6], &[2.0, -3.0, 8.0, -2.0, 3.0, 5.0]);
    let two = |binary| run(Op::Binary(binary), [1, 1, 1, 6], &a, std::slice::from_ref(&b), [1, 1, 1, 6]);
    assert_eq!(two(Binary::Mod), [0.0, -2.0, 5.0, 0.0, 2.0, 3.0]);
    assert_eq!(two(Binary::Fmod), [0.0, 1.0, 5.0, 0.0, -1.0, 3.0]);
    assert_eq!(two(Binary::FloorDiv), [-2.0, -3.0, 0.0, -2.0, -3.0, 1.0]);
    assert_eq!(two(Binary::TruncDiv), [-2.0, -2.0, 0.0, -2.0, -2.0, 1.0]);
    assert_eq!(two(Binary::Pow), [16.0, 7f32.powi(-3), 390_625.0, 0.0625, -343.0, 32_768.0]);
    assert_eq!(two(Binary::GreaterEqual), [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    let mask = constant([1, 1, 1, 6], &[0.0, 1.0, 0.0, 2.0, 0.0, -1.0]);
    let by_mask = |binary| {
        let graph = one_node(
            Op::Binary(binary),
            &[mask.clone(), Source::Input(shape([1, 1, 1, 6]))],
            shape([1, 1, 1, 6]),
            Epilogue::default(),
        );
        reference::graph(&graph, &[a.to_vec()]).unwrap()[graph.outputs[0]].clone().unwrap()
    };
    assert_eq!(by_mask(Binary::ZeroUnless), [0.0, 7.0, 0.0, 4.0, 0.0, 8.0]);
    assert_eq!(by_mask(Binary::ZeroIf), [-4.0, 0.0, 5.0, 0.0, -7.0, 0.0]);
}

#[test]
fn reductions_are_those_of_their_names() {
    let values = [3.0, -4.0, 1.0, 3.0];
    let all = [false, false, false, true];
    for (kind, expected) in [
        (ReduceKind::Sum, 3.0),
        (ReduceKind::SumSquare, 35.0),
        (ReduceKind::Max, 3.0),
        (ReduceKind::Min, -4.0),
        (ReduceKind::Prod, -36.0),
        (ReduceKind::L1, 11.0),
        (ReduceKind::L2, 35f32.sqrt()),
        (ReduceKind::LogSum, 3f32.ln()),
        (ReduceKind::LogSumExp, 3.759_051),
        (ReduceKind::ArgMax { last: false }, 0.0),
        (ReduceKind::ArgMax { last: true }, 3.0),
        (ReduceKind::ArgMin { last: true }, 1.0),
    ] {
        near(&run(Op::Reduce(Reduce { kind, axes: all }), [1, 1, 1, 4], &values, &[], [1, 1, 1, 1]), &[expected]);
    }
    let result = run(
        Op::Reduce(Reduce { kind: ReduceKind::ArgMax { last: false }, axes: [false, true, false, false] }),
        [1, 2, 1, 2],
        &values,
        &[],
        [1, 1, 1, 2],
    );
    near(&result, &[0.0, 1.0]);
}

#[test]
fn a_matrix_product_repeats_outer_extents() {
    let b = constant([1, 1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let result =
        run(Op::MatMul(MatMul { transpose_b: false }), [1, 2, 1, 2], &[1.0, 10.0, 2.0, 0.0], &[b], [1, 2, 1, 3]);
    near(&result, &[41.0, 52.0, 63.0, 2.0, 4.0, 6.0]);
    let b = constant([1, 1, 3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let result =
        run(Op::MatMul(MatMul { transpose_b: true }), [1, 2, 1, 2], &[1.0, 10.0, 2.0, 0.0], &[b], [1, 2, 1, 3]);
    near(&result, &[41.0, 52.0, 63.0, 2.0, 4.0, 6.0]);
}

#[test]
fn the_greatest_channels_come_in_order() {
    // Among equal values, the lower channel comes first, in both directions.
    let values = [0.0, 3.0, 3.0, -1.0];
    let top =
        |largest, indices| run(Op::TopK(TopK { k: 3, largest, indices }), [1, 1, 1, 4], &values, &[], [1, 1, 1, 3]);
    assert_eq!(top(true, false), [3.0, 3.0, 0.0]);
    assert_eq!(top(true, true), [1.0, 2.0, 0.0]);
    assert_eq!(top(false, true), [3.0, 0.0, 1.0]);
}

/// Flags 0 1 1, 0 0 0 and 1 0 1. Results behind the last one are the last place.
#[test]
fn flags_are_located_in_order() {
    let sums = [0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0];
    let located =
        |places| run(Op::Locate, [1, 3, 1, 3], &sums, &[constant([1, 1, 1, 3], &[2.0, 2.0, 4.0])], [1, 1, 1, places]);
    assert_eq!(located(9), [1.0, 2.0, 6.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0]);
    assert_eq!(located(2), [1.0, 1.0]);
}

/// The example of TensorFlow's `unsorted_segment_sum`, with a segment from the end and one that does not exist.
#[test]
fn pixels_of_segments_are_combined_in_order() {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 4.0, 3.0, 2.0, 1.0, 9.0, 9.0, 9.0, 9.0];
    let reduce = |kind| {
        let operands = [constant([1, 1, 1, 4], &[0.0, -2.0, 0.0, 3.0])];
        run(Op::SegmentReduce(SegmentReduce { kind, sorted: false }), [1, 1, 4, 4], &x, &operands, [1, 1, 3, 4])
    };
    assert_eq!(reduce(SegmentKind::Sum), [5.0, 5.0, 5.0, 5.0, 5.0, 6.0, 7.0, 8.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(reduce(SegmentKind::Prod), [4.0, 6.0, 6.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1.0, 1.0, 1.0, 1.0]);
    let lists = constant([1, 2, 2, 2], &[0.0, 1.0, 0.0, 1.0, -1.0, 0.0, 1.0, 0.0]);
    let sorted = Op::SegmentReduce(SegmentReduce { kind: SegmentKind::Sum, sorted: true });
    assert_eq!(run(sorted, [1, 1, 4, 4], &x, &[lists], [1, 1, 3, 4]), reduce(SegmentKind::Sum));
    let [none, all] = [[f32::NEG_INFINITY; 4], [f32::INFINITY; 4]];
    assert_eq!(reduce(SegmentKind::Max), [[4.0, 3.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], none].concat());
    assert_eq!(reduce(SegmentKind::Min), [[1.0, 2.0, 2.0, 1.0], [5.0, 6.0, 7.0, 8.0], all].concat());
}

#[test]
fn boxes_are_selected_in_order_and_leave_out_others() {
    // A square, one that it overlaps by a third, one that it overlaps by less, one apart with corners exchanged, and one
    // without an area.
    let square = |y: f32, x: f32| [y, x, y + 2.0, x + 2.0];
    let boxes = [square(0.0, 0.0), square(0.0, 1.0), square(1.0, 1.0), [7.0, 7.0, 5.0, 5.0], [0.0; 4]].concat();
    let limit = |value, is_included| Threshold { value, is_included };
    let suppress = |score, overlap, places, scores: [f32; 5]| {
        let op = NonMaxSuppression { places, score, overlap, unused: [9.0, -1.0] };
        let out = [1, 1, places + 1, 2];
        let operands = [constant([1, 1, 1, 5], &scores)];
        run(Op::NonMaxSuppression(op), [1, 1, 5, 4], &boxes, &operands, out)
    };
    let scores = [0.5, 0.75, 0.5, 1.0, 0.25];
    // The second box leaves out the first and the third, of which it shares a third.
    let found = suppress(limit(0.0, false), limit(0.3, false), 4, scores);
    assert_eq!(found, [3.0, 1.0, 1.0, 0.75, 4.0, 0.25, 9.0, -1.0, 3.0, 0.0]);
    // Of equal scores, the lower index comes first; the third box shares a seventh with it.
    let found = suppress(limit(0.25, false), limit(1.0 / 3.0, false), 5, scores);
    assert_eq!(found, [3.0, 1.0, 1.0, 0.75, 0.0, 0.5, 2.0, 0.5, 9.0, -1.0, 4.0, 0.0]);
    // Limits that are included, and fewer places than boxes.
    let found = suppress(limit(0.25, true), limit(1.0 / 3.0, true), 2, [0.5, 0.0, 0.5, f32::NAN, 0.25]);
    assert_eq!(found, [0.0, 0.5, 2.0, 0.5, 2.0, 0.0]);
}

#[test]
fn normalizations_and_running_sums() {
    let op = Op::Normalize(Normalize::variance([false, false, true, false], 0.0));
    near(&run(op, [1, 1, 2, 2], &[1.0, 10.0, 3.0, 30.0], &[], [1, 1, 2, 2]), &[-1.0, -1.0, 1.0, 1.0]);
    // A window of four reaches one channel to the left and two to the right.
    let op = Op::Lrn(Lrn { size: 4, alpha: 4.0, beta: 1.0, bias: 1.0 });
    near(&run(op, [1, 1, 1, 4], &[1.0, 2.0, 3.0, 4.0], &[], [1, 1, 1, 4]), &[1.0 / 15.0, 2.0 / 31.0, 0.1, 4.0 / 26.0]);
    let sum = |exclusive, reverse| {
        let op = Op::CumSum(CumSum { axis: 3, exclusive, reverse });
        run(op, [1, 1, 1, 3], &[1.0, 2.0, 3.0], &[], [1, 1, 1, 3])
    };
    assert_eq!(sum(false, false), [1.0, 3.0, 6.0]);
    assert_eq!(sum(true, false), [0.0, 1.0, 3.0]);
    assert_eq!(sum(false, true), [6.0, 5.0, 3.0]);
    assert_eq!(sum(true, true), [5.0, 3.0, 0.0]);
}

/// NaN passes through functions as in ONNX's reference implementation, NumPy.
#[test]
fn functions_pass_nan_on() {
    const NAN: f32 = f32::NAN;
    let one = |unary, x: f32| run(Op::Unary(unary), [1, 1, 1, 1], &[x], &[], [1, 1, 1, 1])[0];
    for unary in [
        Unary::Relu,
        Unary::Relu6,
        Unary::ReluN1To1,
        Unary::Clip { min: -1.0, max: 1.0 },
        Unary::HardSigmoid { alpha: 0.2, beta: 0.5 },
        Unary::HardSwish,
        Unary::Celu { alpha: 1.0 },
        Unary::Softplus,
        Unary::Erf,
        Unary::Gelu,
        Unary::Sign,
        Unary::Tanh,
        Unary::FakeQuant { scale: 0.5, least: 0, most: 9 },
    ] {
        assert!(one(unary, NAN).is_nan(), "{unary:?}");
    }
    assert_eq!(
        [one(Unary::Not, NAN), one(Unary::NotZero, NAN), one(Unary::ThresholdedRelu { alpha: 1.0 }, NAN)],
        [0.0, 1.0, 0.0]
    );
    let two = |binary, a: f32, b: f32| {
        run(Op::Binary(binary), [1, 1, 1, 1], &[a], &[constant([1, 1, 1, 1], &[b])], [1, 1, 1, 1])[0]
    };
    for (a, b) in [(NAN, 1.0), (1.0, NAN)] {
        assert!(two(Binary::Maximum, a, b).is_nan() && two(Binary::Minimum, a, b).is_nan());
        assert_eq!([two(Binary::Equal, a, b), two(Binary::NotEqual, a, b), two(Binary::Less, a, b)], [0.0, 1.0, 0.0]);
    }
    let line = [3.0, NAN, 5.0, NAN];
    let over = |kind| {
        run(Op::Reduce(Reduce { kind, axes: [false, false, false, true] }), [1, 1, 1, 4], &line, &[], [1, 1, 1, 1])[0]
    };
    assert!(over(ReduceKind::Max).is_nan() && over(ReduceKind::Min).is_nan() && over(ReduceKind::LogSumExp).is_nan());
    assert_eq!([over(ReduceKind::ArgMax { last: false }), over(ReduceKind::ArgMin { last: false })], [1.0, 1.0]);
    assert_eq!(over(ReduceKind::ArgMax { last: true }), 3.0);
    let pool = Pool2d::plain(PoolKind::Max, [1, 2], [1, 1], NO_PADDING);
    let pooled = run(Op::Pool2d(pool), [1, 1, 4, 1], &[1.0, NAN, 2.0, 3.0], &[], [1, 1, 3, 1]);
    assert!(pooled[0].is_nan() && pooled[1].is_nan() && pooled[2] == 3.0, "{pooled:?}");
    let top = |largest| {
        run(Op::TopK(TopK { k: 3, largest, indices: true }), [1, 1, 1, 4], &[3.0, -NAN, 5.0, NAN], &[], [1, 1, 1, 3])
    };
    assert_eq!([top(true), top(false)], [[1.0, 3.0, 2.0], [0.0, 2.0, 1.0]]);
    let soft = run(Op::Softmax(Softmax { beta: 1.0, log: false }), [1, 1, 1, 4], &line, &[], [1, 1, 1, 4]);
    assert!(soft.iter().all(|v| v.is_nan()));
}
