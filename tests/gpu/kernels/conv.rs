//! Convolutions of every kind, and fully connected layers.

use texpool_ops::graph::{Conv2d, DepthwiseConv2d, Op, Padding, SeparableConv2d, TransposeConv, Unary};

use super::{Source, case, constant, epilogues, harness::Harness, placed};

const NONE: Padding = Padding { top: 0, bottom: 0, left: 0, right: 0 };
const AROUND: Padding = Padding { top: 1, bottom: 1, left: 2, right: 1 };

fn extents(input: [usize; 4], kernel: [usize; 2], conv: &Conv2d, channels: usize) -> [usize; 4] {
    let [b, h, w, _] = input;
    let p = conv.padding;
    let rows = (h + p.top + p.bottom - (kernel[0] - 1) * conv.dilation[0] - 1) / conv.stride[0] + 1;
    let columns = (w + p.left + p.right - (kernel[1] - 1) * conv.dilation[1] - 1) / conv.stride[1] + 1;
    [b, rows, columns, channels]
}

/// Weights, and biases in every second case.
fn operands(input: [usize; 4], weights: [usize; 4], channels: usize) -> Vec<Source> {
    let mut operands = vec![placed(input), constant(weights)];
    if (input[1] + channels).is_multiple_of(2) {
        operands.push(constant([1, 1, 1, channels]));
    }
    operands
}

/// Padding, stride, dilation, groups, channels that fill no texel, and blocks that hang over the border.
#[test]
fn convolutions_of_any_form() {
    let mut harness = Harness::new();
    harness.every_packing();
    for (input, out, kernel, stride, dilation, padding, groups) in [
        ([1, 5, 7, 8], 12, [1, 1], [1, 1], [1, 1], NONE, 1),
        ([2, 3, 5, 7], 5, [1, 1], [1, 1], [1, 1], NONE, 1),
        ([1, 1, 1, 33], 70, [1, 1], [1, 1], [1, 1], NONE, 1),
        ([1, 8, 9, 3], 10, [3, 3], [2, 2], [1, 1], AROUND, 1),
        ([2, 7, 6, 5], 6, [3, 2], [1, 2], [2, 1], AROUND, 1),
        ([1, 6, 6, 12], 9, [3, 3], [1, 1], [1, 1], AROUND, 3),
        ([1, 5, 5, 8], 4, [1, 1], [2, 2], [1, 1], NONE, 2),
        ([1, 4, 40, 16], 20, [3, 3], [1, 1], [2, 2], Padding { top: 2, bottom: 2, left: 2, right: 2 }, 1),
        ([1, 3, 3, 6], 6, [1, 1], [1, 1], [1, 1], NONE, 6),
        ([1, 5, 6, 15], 25, [3, 3], [1, 1], [1, 1], AROUND, 5),
        ([2, 4, 5, 9], 6, [1, 1], [1, 1], [1, 1], NONE, 3),
        ([1, 4, 5, 14], 21, [2, 2], [1, 2], [2, 1], AROUND, 7),
    ] {
        let conv = Conv2d { stride, dilation, padding, groups };
        let weights = [out, kernel[0], kernel[1], input[3] / groups];
        case(&mut harness, Op::Conv2d(conv), &operands(input, weights, out), extents(input, kernel, &conv, out));
    }
    for kernel in [[1, 1], [2, 3]] {
        let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: NONE, groups: 1 };
        let input = [1, 4, 5, 6];
        let out = extents(input, kernel, &conv, 7);
        epilogues(&mut harness, &Op::Conv2d(conv), &operands(input, [7, kernel[0], kernel[1], 6], 7), out, true);
    }
}

/// Wide windows over inputs of one slice, whose columns are kept from pixel to pixel: both strides, blocks that hang over
/// a row, three channels and others.
#[test]
fn wide_windows_over_few_channels() {
    let mut harness = Harness::new();
    for (input, out, kernel, stride, dilation, padding) in [
        ([1, 9, 23, 3], 8, [7, 7], [2, 2], 1, Padding { top: 3, bottom: 3, left: 3, right: 3 }),
        ([2, 6, 17, 1], 5, [5, 5], [1, 1], 2, Padding { top: 4, ..AROUND }),
        ([1, 8, 21, 4], 12, [1, 6], [3, 2], 1, Padding { left: 4, ..NONE }),
    ] {
        let conv = Conv2d { stride, dilation: [dilation, 1], padding, groups: 1 };
        let weights = [out, kernel[0], kernel[1], input[3]];
        case(&mut harness, Op::Conv2d(conv), &operands(input, weights, out), extents(input, kernel, &conv, out));
    }
    harness.every_packing();
    let conv = Conv2d { stride: [1, 2], dilation: [1, 1], padding: NONE, groups: 1 };
    let input = [1, 4, 24, 3];
    case(&mut harness, Op::Conv2d(conv), &operands(input, [7, 2, 5, 3], 7), extents(input, [2, 5], &conv, 7));
}

/// Windows, strides, dilation and multipliers, with channels that fill no texel.
#[test]
fn depthwise_convolutions_of_any_form() {
    let mut harness = Harness::new();
    harness.every_packing();
    for (input, multiplier, kernel, stride, dilation, padding) in [
        ([1, 6, 7, 8], 1, [3, 3], [1, 1], [1, 1], AROUND),
        ([2, 9, 8, 6], 1, [5, 5], [2, 2], [1, 1], AROUND),
        ([1, 7, 9, 5], 1, [3, 2], [1, 2], [2, 2], AROUND),
        ([1, 5, 5, 3], 2, [3, 3], [1, 1], [1, 1], AROUND),
        ([2, 5, 5, 5], 3, [3, 2], [2, 1], [1, 2], AROUND),
        ([1, 5, 5, 1], 8, [3, 3], [2, 1], [1, 1], NONE),
        ([1, 4, 66, 4], 4, [1, 1], [1, 1], [1, 1], NONE),
    ] {
        let conv = Conv2d { stride, dilation, padding, groups: 1 };
        let channels = input[3] * multiplier;
        let weights = [1, kernel[0], kernel[1], channels];
        let out = extents(input, kernel, &conv, channels);
        case(&mut harness, Op::DepthwiseConv2d(DepthwiseConv2d(conv)), &operands(input, weights, channels), out);
    }
    let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: NONE, groups: 1 };
    let out = extents([1, 4, 5, 6], [2, 2], &conv, 6);
    epilogues(
        &mut harness,
        &Op::DepthwiseConv2d(DepthwiseConv2d(conv)),
        &operands([1, 4, 5, 6], [1, 2, 2, 6], 6),
        out,
        true,
    );
}

/// Windows, strides and dilation of the first convolution, every number of slices of the second, parts of them, and
/// functions in between, one of which is not zero for zero.
#[test]
fn separable_convolutions_of_any_form() {
    let mut harness = Harness::new();
    harness.every_packing();
    let operands = |input: [usize; 4], kernel: [usize; 2], channels: usize| {
        let (weights, window) = ([channels, 1, 1, input[3]], [1, kernel[0], kernel[1], input[3]]);
        let biases = [channels, input[3]].map(|length| constant([1, 1, 1, length]));
        let [bias, window_bias] = biases;
        vec![placed(input), constant(weights), bias, constant(window), window_bias]
    };
    for (input, kernel, stride, dilation, padding, channels, between) in [
        ([1, 6, 7, 8], [3, 3], [1, 1], [1, 1], AROUND, 12, None),
        ([2, 9, 8, 6], [5, 5], [2, 2], [1, 1], AROUND, 3, Some(Unary::Relu6)),
        ([1, 7, 9, 5], [3, 2], [1, 2], [2, 2], AROUND, 17, Some(Unary::HardSigmoid { alpha: 0.2, beta: 0.5 })),
        ([1, 3, 1, 9], [3, 1], [1, 1], [1, 1], NONE, 32, Some(Unary::Relu)),
        ([2, 4, 2, 13], [7, 1], [3, 1], [1, 1], Padding { top: 3, bottom: 3, ..NONE }, 36, Some(Unary::HardSwish)),
        ([1, 5, 11, 4], [1, 5], [2, 1], [1, 2], Padding { left: 4, ..NONE }, 70, Some(Unary::Logistic)),
    ] {
        let conv = Conv2d { stride, dilation, padding, groups: 1 };
        let op = Op::SeparableConv2d(SeparableConv2d { depthwise: conv, between });
        let out = extents(input, kernel, &conv, channels);
        case(&mut harness, op, &operands(input, kernel, channels), out);
    }
    let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: NONE, groups: 1 };
    let op = Op::SeparableConv2d(SeparableConv2d { depthwise: conv, between: Some(Unary::Relu) });
    epilogues(&mut harness, &op, &operands([1, 4, 5, 6], [2, 2], 7), extents([1, 4, 5, 6], [2, 2], &conv, 7), true);
}

/// Strides that leave pixels without a tap, padding, dilation and groups.
#[test]
fn transposed_convolutions_of_any_form() {
    let mut harness = Harness::new();
    harness.every_packing();
    for (input, channels, kernel, stride, padding, out) in [
        ([1, 4, 5, 8], 6, [2, 2], [2, 2], NONE, [8, 10]),
        ([2, 3, 4, 5], 3, [3, 3], [2, 2], NONE, [7, 9]),
        ([1, 3, 4, 5], 9, [3, 3], [2, 2], Padding { top: 1, bottom: 0, left: 0, right: 1 }, [6, 8]),
        ([1, 5, 4, 2], 1, [4, 3], [1, 3], Padding { top: 2, bottom: 1, left: 1, right: 0 }, [5, 11]),
        ([1, 3, 3, 4], 4, [1, 2], [3, 3], NONE, [9, 9]),
    ] {
        let conv = TransposeConv::plain(stride, padding);
        let weights = [channels, kernel[0], kernel[1], input[3]];
        let out = [input[0], out[0], out[1], channels];
        case(&mut harness, Op::TransposeConv(conv), &operands(input, weights, channels), out);
    }
    for (input, channels, kernel, stride, dilation, groups, out) in [
        ([1, 4, 5, 8], 6, [2, 3], [2, 2], [2, 1], 2, [9, 11]),
        ([2, 3, 4, 6], 9, [3, 2], [1, 3], [1, 3], 3, [6, 13]),
        ([1, 3, 4, 5], 5, [3, 3], [2, 1], [2, 2], 5, [9, 8]),
        ([1, 3, 3, 10], 15, [2, 2], [2, 2], [3, 2], 5, [8, 7]),
        ([1, 3, 4, 5], 3, [3, 3], [3, 2], [2, 4], 1, [11, 15]),
    ] {
        let padding = Padding { top: 1, bottom: 0, left: 0, right: 1 };
        let conv = TransposeConv { stride, dilation, padding, groups };
        let weights = [channels, kernel[0], kernel[1], input[3] / groups];
        let out = [input[0], out[0], out[1], channels];
        case(&mut harness, Op::TransposeConv(conv), &operands(input, weights, channels), out);
    }
    let conv = TransposeConv::plain([2, 2], NONE);
    epilogues(&mut harness, &Op::TransposeConv(conv), &operands([1, 3, 3, 4], [6, 2, 2, 4], 6), [1, 6, 6, 6], true);
}

/// One row and several, also where a row of weights spans several pixels of the operand.
#[test]
fn fully_connected_layers_of_any_form() {
    let mut harness = Harness::new();
    harness.every_packing();
    for (input, weights, out) in [
        ([1, 1, 1, 9], [1, 1, 5, 9], [1, 1, 1, 5]),
        ([1, 1, 6, 8], [1, 1, 12, 8], [1, 1, 6, 12]),
        ([1, 2, 3, 4], [1, 1, 7, 24], [1, 1, 1, 7]),
        ([1, 2, 3, 5], [1, 1, 6, 30], [1, 1, 1, 6]),
        ([1, 1, 6, 4], [1, 1, 3, 8], [1, 1, 3, 3]),
        ([2, 1, 1, 10], [1, 1, 4, 10], [1, 1, 2, 4]),
    ] {
        case(&mut harness, Op::FullyConnected, &operands(input, weights, out[3]), out);
    }
}
