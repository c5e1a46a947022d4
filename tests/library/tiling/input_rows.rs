//! Determines the rows that each operator needs by brute force. A row of an operand is changed to other numbers and
//! to NaN; the rows of the CPU reference's result that change depend on it. Rows that are read and multiplied by zero
//! count too, because uncomputed rows may contain NaN.

use super::noise;
use crate::support::graphs::{copy, n};
use texpool_ops::{
    graph::{
        Act, Binary, Concat, Conv2d, CoordMode, CumSum, DepthOrder, DepthToSpace, DepthwiseConv2d, DynamicQuantize,
        Gather, GatherElements, Graph, GraphBuilder, Lrn, MatMul, NonMaxSuppression, Normalize, Op, Pad, PadMode,
        Padding, Pool2d, PoolKind, QuantizedAdd, Reduce, ReduceKind, Resize, ResizeMode, Rounding, SegmentKind,
        SegmentReduce, SeparableConv2d, Shape, Softmax, SpaceToDepth, StridedSlice, TensorId, Threshold, TopK,
        Transpose, TransposeConv, WinogradInput, WinogradOutput, WinogradTile,
    },
    ops::input_rows,
    ops::reference,
};

/// If true, every reported row must make a difference. If false, some may be reported only for safety.
#[derive(Clone, Copy, PartialEq)]
enum Claim {
    Exact,
    Safe,
}

/// Checks the last node of a graph whose inputs are its operands.
fn agrees(what: &str, graph: &Graph, claim: Claim) {
    let node = graph.nodes.last().unwrap();
    let out = graph.shape(node.output);
    let inputs: Vec<Vec<f32>> =
        graph.inputs.iter().enumerate().map(|(i, &t)| noise(i as u32 + 1, graph.shape(t).len())).collect();
    let result = |inputs: &[Vec<f32>]| reference::graph(graph, inputs).unwrap()[node.output].clone().unwrap();
    let before = result(&inputs);
    for (operand, &tensor) in node.inputs.iter().chain(&node.epilogue.add).enumerate() {
        let rows = input_rows(graph, node, operand);
        let Some(input) = graph.inputs.iter().position(|&t| t == tensor) else {
            assert_eq!(rows, None, "{what}: operand {operand} is a constant");
            continue;
        };
        let rows = rows.unwrap();
        assert_eq!(rows.len(), out.rows(), "{what}");
        let shape = graph.shape(tensor);
        let row = shape.w * shape.c;
        for changed in 0..shape.rows() {
            let mut other = inputs.clone();
            // Far above all other values, so that it wins every maximum.
            other[input][changed * row..(changed + 1) * row].iter_mut().enumerate().for_each(|(i, v)| {
                *v += 50.0 + i as f32 * 3.0;
            });
            let after = result(&other);
            other[input][changed * row..(changed + 1) * row].fill(f32::NAN);
            let after_nan = result(&other);
            let length = out.w * out.c;
            for (to, needed) in rows.iter().enumerate() {
                let row = to * length..(to + 1) * length;
                let differs = before[row.clone()] != after[row.clone()] || before[row.clone()] != after_nan[row];
                let claimed = needed.contains(&(changed as u32));
                let agree = differs == claimed || claim == Claim::Safe && claimed;
                assert!(agree, "{what}: operand {operand}, row {changed} of {shape} for row {to} of {out}: {needed:?}");
            }
        }
    }
}

/// Creates a graph of one node; `constants` follow the inputs.
fn one(op: Op, inputs: &[[usize; 4]], constants: &[[usize; 4]], stated: [usize; 4]) -> Graph {
    let mut b = GraphBuilder::new("one");
    let mut operands: Vec<TensorId> = inputs.iter().map(|dims| b.input("x", dims).unwrap()).collect();
    for dims in constants {
        let len = Shape::from(*dims).len();
        operands.push(b.constant("c", dims, &noise(7, len)).unwrap());
    }
    let y = b.node_to("y", op, &operands, &stated, Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

const ANY: [usize; 4] = [1; 4];

fn padding(top: usize, bottom: usize) -> Padding {
    Padding { top, bottom, left: 1, right: 1 }
}

/// Strides, dilation and padding, of pools too.
#[test]
fn convolutions() {
    for (stride, dilation, top, bottom, window, height) in [
        (1, 1, 1, 1, 3, 7),
        (2, 1, 0, 1, 3, 9),
        (1, 2, 2, 2, 3, 8),
        (3, 1, 0, 0, 2, 11),
        (2, 3, 3, 3, 3, 13),
        (1, 1, 2, 0, 5, 6),
    ] {
        let conv = Conv2d { stride: [stride, 1], dilation: [dilation, 1], padding: padding(top, bottom), groups: 1 };
        let what = format!("stride {stride}, dilation {dilation}, window {window}");
        let x = [2, height, 4, 3];
        // Rows between the taps of a dilated window lie in the range that is stated.
        let claim = if dilation == 1 { Claim::Exact } else { Claim::Safe };
        agrees(&what, &one(Op::Conv2d(conv), &[x], &[[2, window, 3, 3], [1, 1, 1, 2]], ANY), claim);
        agrees(&what, &one(Op::DepthwiseConv2d(DepthwiseConv2d(conv)), &[x], &[[1, window, 3, 3]], ANY), claim);
        let separable = Op::SeparableConv2d(SeparableConv2d { depthwise: conv, between: None });
        let constants = [&[2, 1, 1, 3][..], &[1, 1, 1, 2], &[1, window, 3, 3], &[1, 1, 1, 3]];
        agrees(&what, &one(separable, &[x], &constants.map(|dims| dims.try_into().unwrap()), ANY), claim);
        for kind in [PoolKind::Max, PoolKind::Average] {
            if top <= (window - 1) * dilation && bottom <= (window - 1) * dilation {
                let pool = Pool2d::plain(kind, [window, 3], [stride, 1], padding(top, bottom));
                let pool = Pool2d { dilation: [dilation, 1], ..pool };
                agrees(&what, &one(Op::Pool2d(pool), &[x], &[], ANY), claim);
            }
        }
    }
}

/// Tiles overlap in the rows that they read, and the last one may reach beyond the image.
#[test]
fn winograd_tiles() {
    for (tile, height) in [(WinogradTile::Two, 7), (WinogradTile::Four, 9)] {
        let what = format!("{tile:?}");
        let op = Op::WinogradInput(WinogradInput { tile, padding: padding(1, 1) });
        // A row that all products of a tile multiply by zero is stated, too.
        agrees(&what, &one(op, &[[2, height, 5, 4]], &[], ANY), Claim::Safe);
        let rows = height.div_ceil(tile.pixels());
        let columns = 5_usize.div_ceil(tile.pixels());
        let products = [2, rows, columns, 4 * tile.products()];
        agrees(
            &what,
            &one(Op::WinogradOutput(WinogradOutput { tile }), &[products], &[], [2, height, 5, 4]),
            Claim::Exact,
        );
    }
}

#[test]
fn an_epilogue_that_adds_needs_the_same_row() {
    let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: padding(1, 1), groups: 1 };
    let mut b = GraphBuilder::new("epilogue");
    let (x, added) = (b.input("x", &[2, 5, 4, 3]).unwrap(), b.input("added", &[2, 5, 4, 2]).unwrap());
    let weights = b.constant("w", &[2, 3, 3, 3], &noise(7, 54)).unwrap();
    let y = b.conv2d("y", conv, x, weights, None, Act::None).unwrap();
    let mut graph = b.finish(&[y]).unwrap();
    graph.nodes[n(0)].epilogue.add = Some(added);
    agrees("epilogue", &graph, Claim::Exact);
}

/// Strides, padding, groups and dilation.
#[test]
fn transposed_convolutions() {
    for (stride, window, top, height) in
        [(1, 3, 1, 5), (2, 2, 0, 4), (2, 3, 1, 5), (3, 2, 0, 3), (2, 4, 1, 4), (3, 5, 2, 4)]
    {
        let full = (height - 1) * stride + window;
        let conv = TransposeConv::plain([stride, 1], padding(top, top));
        let graph = one(Op::TransposeConv(conv), &[[2, height, 4, 3]], &[[2, window, 3, 3]], [2, full - 2 * top, 4, 2]);
        agrees(&format!("stride {stride}, window {window}"), &graph, Claim::Exact);
        let conv = TransposeConv { dilation: [2, 1], groups: 3, ..conv };
        let full = full + window - 1;
        let graph = one(Op::TransposeConv(conv), &[[2, height, 4, 3]], &[[3, window, 3, 1]], [2, full - 2 * top, 4, 3]);
        agrees(&format!("stride {stride}, dilated window {window}"), &graph, Claim::Safe);
    }
}

/// Element by element, with broadcast operands.
#[test]
fn operators_that_look_at_a_pixel() {
    for (a, b) in [
        ([2, 5, 3, 4], [2, 5, 3, 4]),
        ([2, 5, 3, 4], [1, 1, 1, 4]),
        ([2, 5, 3, 4], [2, 1, 3, 1]),
        ([1, 5, 3, 4], [2, 1, 3, 4]),
    ] {
        agrees("add", &one(Op::Binary(Binary::Add), &[a, b], &[], ANY), Claim::Exact);
        let quantized = Op::QuantizedAdd(QuantizedAdd::shift([1.0, 1.0], 1.0, [-999, 999]).unwrap());
        agrees("quantized add", &one(quantized, &[a, b], &[], ANY), Claim::Exact);
    }
    let quantized = Op::DynamicQuantize(DynamicQuantize { from_zero: false });
    agrees("dynamic quantize", &one(quantized, &[[2, 4, 3, 5], [1, 1, 1, 2]], &[], ANY), Claim::Exact);
    agrees("extremes", &one(Op::Extremes, &[[2, 4, 3, 5]], &[], ANY), Claim::Exact);
    agrees("dynamic scale", &one(Op::DynamicScale, &[[2, 4, 3, 5]], &[], ANY), Claim::Exact);
    agrees("softmax", &one(Op::Softmax(Softmax { beta: 0.01, log: false }), &[[2, 4, 3, 5]], &[], ANY), Claim::Exact);
    let masked = one(Op::Softmax(Softmax { beta: 0.01, log: false }), &[[2, 4, 3, 5], [1, 4, 3, 5]], &[], ANY);
    agrees("masked softmax", &masked, Claim::Exact);
    agrees("prelu", &one(Op::Prelu, &[[2, 4, 3, 5]], &[[1, 1, 1, 5]], ANY), Claim::Exact);
}

/// Layers of rows and of whole maps, and means over each set of axes.
#[test]
fn dense_layers_and_means() {
    agrees("rows", &one(Op::FullyConnected, &[[1, 4, 3, 5]], &[[1, 1, 2, 5]], [1, 1, 12, 2]), Claim::Exact);
    agrees("map", &one(Op::FullyConnected, &[[1, 4, 3, 5]], &[[1, 1, 2, 60]], [1, 1, 1, 2]), Claim::Exact);
    for axes in [
        [false, true, true, false],
        [false, false, true, false],
        [true, true, false, false],
        [false, true, false, true],
    ] {
        let op = Op::Reduce(Reduce { kind: ReduceKind::Mean, axes });
        agrees(&format!("mean {axes:?}"), &one(op, &[[2, 4, 3, 5]], &[], ANY), Claim::Exact);
    }
}

/// Normalizations, running sums, reductions and products along every axis.
#[test]
fn operators_along_axes() {
    let x = [2, 4, 3, 5];
    for (axes, claim) in [
        ([false, false, false, true], Claim::Exact),
        ([false, true, true, false], Claim::Exact),
        ([true, false, true, false], Claim::Safe),
    ] {
        let op = Op::Normalize(Normalize::variance(axes, 0.1));
        agrees(&format!("normalize {axes:?}"), &one(op, &[x], &[], ANY), claim);
    }
    for axis in 0..4 {
        let claim = if axis == 0 { Claim::Safe } else { Claim::Exact };
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            let op = Op::CumSum(CumSum { axis, exclusive, reverse });
            agrees(&format!("running sum {axis} {exclusive} {reverse}"), &one(op, &[x], &[], ANY), claim);
        }
    }
    let segments = Op::SegmentReduce(SegmentReduce { kind: SegmentKind::Sum, sorted: false });
    agrees("segments", &one(segments, &[[2, 4, 6, 5], [1, 1, 1, 6]], &[], [2, 4, 3, 5]), Claim::Safe);
    let listed = Op::SegmentReduce(SegmentReduce { kind: SegmentKind::Sum, sorted: true });
    agrees("listed segments", &one(listed, &[[2, 4, 6, 5], [1, 2, 2, 3]], &[], [2, 4, 3, 5]), Claim::Safe);
    agrees("places", &one(Op::Locate, &[[1, 4, 1, 6], [1, 1, 1, 4]], &[], [1, 1, 1, 24]), Claim::Safe);
    for axis in 0..4 {
        let axes = std::array::from_fn(|i| i == axis);
        let op = Op::Reduce(Reduce { kind: ReduceKind::SumSquare, axes });
        agrees(&format!("sum of squares {axis}"), &one(op, &[x], &[], ANY), Claim::Safe);
    }
    for (a, b) in [([2, 4, 3, 5], [2, 4, 5, 2]), ([2, 1, 3, 5], [1, 4, 5, 2]), ([1, 4, 3, 5], [2, 1, 5, 2])] {
        agrees("product", &one(Op::MatMul(MatMul { transpose_b: false }), &[a, b], &[], ANY), Claim::Exact);
    }
    agrees("top", &one(Op::TopK(TopK { k: 2, largest: true, indices: false }), &[x], &[], ANY), Claim::Exact);
    let [score, overlap] = [-9.0, 0.1].map(|value| Threshold { value, is_included: false });
    let suppression = Op::NonMaxSuppression(NonMaxSuppression { places: 6, score, overlap, unused: [0.0; 2] });
    agrees("suppression", &one(suppression, &[[2, 1, 6, 4], [2, 3, 1, 6]], &[], [2, 3, 7, 2]), Claim::Exact);
    agrees("lrn", &one(Op::Lrn(Lrn { size: 3, alpha: 0.1, beta: 0.75, bias: 1.0 }), &[x], &[], ANY), Claim::Exact);
}

/// Rows come from where the elements come from.
#[test]
fn operators_that_move_values() {
    let x = [2, 6, 4, 8];
    let pad = Op::Pad(Pad { before: [0, 2, 1, 0], after: [1, 1, 0, 0], mode: PadMode::Constant(3.0) });
    agrees("pad", &one(pad, &[x], &[], ANY), Claim::Exact);
    for mode in [PadMode::Reflect, PadMode::Symmetric, PadMode::Edge, PadMode::Wrap] {
        let pad = Op::Pad(Pad { before: [1, 9, 1, 0], after: [0, -2, 0, 3], mode });
        agrees(&format!("pad {mode:?}"), &one(pad, &[x], &[], ANY), Claim::Exact);
    }
    agrees("tile", &one(Op::Tile, &[x], &[], [4, 18, 4, 8]), Claim::Exact);
    let slice = Op::StridedSlice(StridedSlice { begin: [1, 4, 0, 0], stride: [1, -2, 1, 1] });
    agrees("slice", &one(slice, &[x], &[], [1, 3, 4, 8]), Claim::Exact);
    agrees("transpose", &one(Op::Transpose(Transpose { perm: [0, 1, 3, 2] }), &[x], &[], ANY), Claim::Exact);
    agrees("transpose rows", &one(Op::Transpose(Transpose { perm: [0, 2, 1, 3] }), &[x], &[], ANY), Claim::Safe);
    agrees("reshape", &one(Op::Reshape, &[x], &[], [1, 3, 16, 8]), Claim::Exact);
    agrees("reshape across rows", &one(Op::Reshape, &[x], &[], [1, 16, 3, 8]), Claim::Exact);
    agrees(
        "depth to space",
        &one(Op::DepthToSpace(DepthToSpace { block: [2, 2], order: DepthOrder::Dcr }), &[x], &[], ANY),
        Claim::Exact,
    );
    agrees("space to depth", &one(Op::SpaceToDepth(SpaceToDepth { block: [2, 2] }), &[x], &[], ANY), Claim::Exact);
    // Images turned around, columns repeated; the second row's columns come before the first row's.
    let turned = copy(192, &[(2, -192), (6, 32), (2, 0), (4, 8), (8, 1)]);
    agrees("copy of rows", &one(turned, &[x], &[], [2, 6, 8, 8]), Claim::Exact);
    agrees("copy of parts of rows", &one(copy(8, &[(12, 32), (16, 1)]), &[x], &[], [1, 12, 2, 8]), Claim::Exact);
    agrees("copy across rows", &one(copy(0, &[(64, 1), (6, 64)]), &[x], &[], [1, 16, 4, 6]), Claim::Safe);
    agrees("copy of no whole axes", &one(copy(0, &[(32, 12), (12, 1)]), &[x], &[], [4, 3, 4, 8]), Claim::Safe);
    for axis in 0..4 {
        let mut other = x;
        other[axis] += 3;
        agrees(&format!("concat {axis}"), &one(Op::Concat(Concat { axis }), &[x, other, x], &[], ANY), Claim::Exact);
    }
}

/// A lookup in an input by constant indices, or by indices that are an input, too.
fn lookup(op: Op, x: [usize; 4], shape: [usize; 4], indices: Option<&[f32]>) -> Graph {
    let mut b = GraphBuilder::new("lookup");
    let table = b.input("x", &x).unwrap();
    let indices = match indices {
        Some(values) => b.constant("indices", &shape, values).unwrap(),
        None => b.input("indices", &shape).unwrap(),
    };
    let y = b.node_to("y", op, &[table, indices], &ANY, Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

/// Constant indices name rows; computed ones may name any.
#[test]
fn lookups() {
    let (x, some) = ([2, 6, 4, 8], [1.0, -1.0, 0.0, 1.0, 5.0]);
    for axis in 0..4 {
        let op = Op::Gather(Gather { axis });
        let with_indices = lookup(op.clone(), x, [1, 1, 1, 5], Some(&some));
        agrees(&format!("gather {axis}"), &with_indices, if axis < 3 { Claim::Exact } else { Claim::Safe });
        agrees(&format!("gather computed {axis}"), &lookup(op, x, [1, 1, 1, 5], None), Claim::Safe);
        let mut indices = [1, 4, 3, 8];
        indices[axis] += 1;
        let op = Op::GatherElements(GatherElements { axis });
        agrees(&format!("elements {axis}"), &lookup(op, x, indices, None), Claim::Safe);
    }
}

/// ONNX's modes: no more rows than a pixel has taps.
#[test]
fn resizes_by_tables() {
    let modes = [
        ResizeMode::Nearest(Rounding::PreferFloor),
        ResizeMode::Linear,
        ResizeMode::Cubic { a: -0.75, exclude_outside: false },
        ResizeMode::Cubic { a: -0.5, exclude_outside: true },
    ];
    let crop = CoordMode::TfCropAndResize { start: [-0.3, 0.1], end: [0.9, 0.8], extrapolation: 1.0 };
    for mode in modes {
        for coords in [CoordMode::Asymmetric, CoordMode::HalfPixelSymmetric, CoordMode::PytorchHalfPixel, crop] {
            for (from, to) in [(4, 8), (5, 7), (9, 4), (1, 5), (6, 1)] {
                let op = Op::Resize(Resize { mode, coords, scale: Some([to as f32 / from as f32 * 0.9, 1.0]) });
                let graph = one(op, &[[2, from, 3, 2]], &[], [2, to, 3, 2]);
                agrees(&format!("{mode:?} {coords:?} {from} to {to}"), &graph, Claim::Safe);
                let most =
                    input_rows(&graph, &graph.nodes[n(0)], 0).unwrap().iter().map(|rows| rows.len()).max().unwrap();
                assert!(most <= 4, "{mode:?} {coords:?}: {most} rows");
            }
        }
    }
}

/// TensorFlow Lite's conventions: no more rows than a pixel is made of.
#[test]
fn resizes() {
    for coords in [CoordMode::Asymmetric, CoordMode::HalfPixel, CoordMode::AlignCorners] {
        for mode in [ResizeMode::Linear, ResizeMode::nearest_in(coords)] {
            for (from, to) in [(4, 8), (5, 7), (9, 4), (3, 3), (1, 5), (6, 1)] {
                let op = Op::Resize(Resize { mode, coords, scale: None });
                let graph = one(op, &[[2, from, 3, 2]], &[], [2, to, 3, 2]);
                agrees(&format!("{mode:?} {coords:?} {from} to {to}"), &graph, Claim::Safe);
                let node = &graph.nodes[n(0)];
                let most = input_rows(&graph, node, 0).unwrap().iter().map(|rows| rows.len()).max().unwrap();
                assert!(most <= if mode == ResizeMode::Linear { 3 } else { 2 }, "{mode:?} {coords:?}: {most} rows");
            }
        }
    }
}
