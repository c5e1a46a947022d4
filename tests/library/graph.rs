//! Graphs built by hand: results of shape inference, and errors of the checker and the builder.

#![cfg(test)]

use crate::support::{
    graphs::{copy, n},
    t,
};
use texpool_ops::graph::{
    Act, Binary, BuildError, Bytes, CheckError, Concat, Constant, Conv2d, CoordMode, CumSum, DepthOrder, DepthToSpace,
    DepthwiseConv2d, DynamicQuantize, ElementType, Epilogue, FixedPoint, Gather, GatherElements, Graph, GraphBuilder,
    IdVec, Lrn, MatMul, Op, Pad, PadMode, Padding, Pool2d, PoolKind, QuantParams, Quantization, QuantizedAdd,
    QuantizedSum, Reduce, ReduceKind, ResizeMode, SegmentKind, SegmentReduce, Shape, ShapeError, SpaceToDepth,
    StridedSlice, Tensor, TopK, Transpose, TransposeConv, Unary, check, infer,
};

fn conv(stride: usize, padding: usize) -> Conv2d {
    let padding = Padding { top: padding, bottom: padding, left: padding, right: padding };
    Conv2d { stride: [stride; 2], dilation: [1, 1], padding, groups: 1 }
}

/// Two convolutions, a residual sum and a head.
fn network() -> Result<Graph, BuildError> {
    let mut b = GraphBuilder::new("network");
    let x = b.input("x", &[1, 8, 8, 3])?;
    let w = b.constant("w", &[4, 3, 3, 3], &[0.5; 108])?;
    let bias = b.constant("bias", &[4], &[1.0; 4])?;
    let first = b.conv2d("first", conv(1, 1), x, w, Some(bias), Act::Unary(Unary::Relu))?;
    let w = b.constant("dw", &[1, 3, 3, 4], &[0.5; 36])?;
    let second = b.depthwise("second", conv(1, 1), first, w, None, Act::None)?;
    let sum = b.binary("sum", Binary::Add, first, second, Act::None)?;
    let window = Pool2d::plain(PoolKind::Max, [2, 2], [2, 2], Padding::default());
    let pooled = b.pool("pooled", window, sum)?;
    let mean = b.mean("mean", [false, true, true, false], pooled)?;
    let w = b.constant("fc", &[5, 4], &[0.5; 20])?;
    let scores = b.fully_connected("scores", mean, w, None, Act::None)?;
    b.finish(&[scores, sum])
}

#[test]
fn the_builder_infers_shapes_and_keeps_ranks() {
    let graph = network().unwrap();
    let shape = |name: &str| graph.tensors.iter().find(|t| t.name == name).map(|t| (t.shape.dims(), t.dims.clone()));
    assert_eq!(shape("first"), Some(([1, 8, 8, 4], vec![1, 8, 8, 4])));
    assert_eq!(shape("pooled"), Some(([1, 4, 4, 4], vec![1, 4, 4, 4])));
    assert_eq!(shape("mean"), Some(([1, 1, 1, 4], vec![1, 1, 1, 4])));
    assert_eq!(shape("scores"), Some(([1, 1, 1, 5], vec![1, 5])));
    assert_eq!(check(&graph), Ok(()));
}

#[test]
fn the_builder_names_node_and_tensor() {
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", &[1, 8, 8, 3]).unwrap();
    let w = b.constant("w", &[4, 3, 3, 2], &[0.5; 72]).unwrap();
    let error = b.conv2d("y", conv(1, 0), x, w, None, Act::None).unwrap_err();
    assert_eq!(error.to_string(), "node 0 CONV_2D, `y`: input channels of the weights: expected 3, found 2");
    let error = b.unary("z", Unary::Relu, t(99)).unwrap_err();
    assert_eq!(error.to_string(), "node 0 RELU, `z`: there is no tensor 99");
    let error = b.constant("short", &[4], &[0.0; 3]).unwrap_err();
    assert_eq!(error.to_string(), "constant `short` has 12 bytes, 16 are needed");
    let error = b.input("five", &[2, 1, 1, 1, 1]).unwrap_err();
    assert!(matches!(error, BuildError::Rank { .. }), "{error}");
    assert!(b.input("none", &[1, 0]).unwrap_err().to_string().contains("tensor `none` is empty"));
    assert!(b.input("huge", &[1 << 20, 1 << 12]).unwrap_err().to_string().contains("more than 2^31 elements"));
    let error = b.finish(&[x]).unwrap_err();
    assert_eq!(error.to_string(), "output `x` is an input: no node computes it");
}

#[test]
fn open_shapes_are_checked_for_being_possible() {
    let mut b = GraphBuilder::new("g");
    let x = b.input("x", &[1, 4, 4, 8]).unwrap();
    let w = b.constant("w", &[2, 3, 3, 8], &[0.5; 144]).unwrap();
    let transposed = TransposeConv::plain([2, 2], Padding::default());
    let up = b.transpose_conv("up", transposed, [x, w], None, [9, 9]).unwrap();
    let resized = b.resize("resized", ResizeMode::Linear, CoordMode::HalfPixel, up, [3, 5]).unwrap();
    let flat = b.reshape("flat", resized, &[30]).unwrap();
    let joined = b.concat("joined", 3, &[flat, flat]).unwrap();
    assert!(b.reshape("wrong", resized, &[31]).is_err());
    let graph = b.finish(&[joined]).unwrap();
    assert_eq!(graph.shape(resized), Shape::new(1, 3, 5, 2));
    assert_eq!(graph.shape(joined), Shape::new(1, 1, 1, 60));
}

#[test]
fn ids_are_indices() {
    let mut table = IdVec::new();
    let [a, b] = ["a", "b"].map(|entry| table.push(entry));
    assert_eq!((a, b), (t(0), t(1)));
    assert_eq!((table[b], table.get(b), table.get(t(2))), ("b", Some(&"b"), None));
    assert!(table.contains_id(b) && !table.contains_id(t(2)));
    assert!(table.ids().eq([a, b]) && table.iter_enumerated().rev().eq([(b, &"b"), (a, &"a")]));
    assert_eq!((b.index(), b.to_string()), (1, "1".to_owned()));
}

#[test]
fn an_index_that_32_bits_do_not_hold_is_no_tensors() {
    let mut graph = network().unwrap();
    assert_eq!(t(1 << 32), t(u32::MAX as usize));
    graph.nodes[n(0)].inputs[0] = t(1 << 32);
    let error = check(&graph).unwrap_err();
    assert!(matches!(error, CheckError::NoSuchTensor { id, .. } if id == t(1 << 32)), "{error}");
}

type Change = fn(&mut Graph);

fn quantised(graph: &mut Graph, element_type: ElementType, scale: f32, zero_point: i32) {
    let input = &mut graph.tensors[graph.inputs[0]];
    (input.element_type, input.quantization) = (element_type, Some(Quantization { scale, zero_point }));
}

#[test]
fn the_checker_finds_every_kind_of_damage() {
    let cases: [(&str, Change); 20] = [
        ("there is no tensor 999", |g| g.nodes[n(0)].inputs[0] = t(999)),
        ("there is no tensor 999", |g| g.nodes[n(1)].output = t(999)),
        ("inputs: there is no tensor 999", |g| g.inputs.push(t(999))),
        ("outputs: there is no tensor 999", |g| g.outputs.push(t(999))),
        ("there is no tensor 999", |g| g.nodes[n(0)].epilogue.add = Some(t(999))),
        ("there is no tensor 999", |g| g.nodes[n(0)].epilogue.then = Act::Prelu(t(999))),
        ("has no value yet", |g| g.nodes.swap(0, 1)),
        ("has a value already", |g| g.nodes[n(1)].output = g.nodes[n(0)].output),
        ("`x` is there twice", |g| g.inputs.push(g.inputs[0])),
        ("`w` is a constant", |g| g.inputs.push(t(1))),
        ("the weights `w` must be constant", |g| {
            g.tensors[t(1)].constant = None;
            g.inputs.push(t(1));
        }),
        ("is 1x9x8x4, its operands give 1x8x8x4", |g| {
            g.tensors[t(3)].shape.h = 9;
            g.tensors[t(3)].dims[1] = 9;
        }),
        ("are not the same elements", |g| g.tensors[t(3)].dims[1] = 9),
        ("does not fit a result of 1x4x4x4", |g| g.nodes[n(3)].epilogue.add = Some(t(0))),
        ("does not fit a result of 1x8x8x4", |g| {
            let constant = Some(Constant::from_f32(&[1.0; 3]));
            let id = g.tensors.push(Tensor { constant, ..Tensor::new("alpha", Shape::new(1, 1, 1, 3)) });
            g.nodes[n(0)].epilogue = Epilogue::of(Act::Prelu(id));
        }),
        ("no outputs", |g| g.outputs.clear()),
        ("tensor `x` is of f32 and quantised, but only integers of 8, 16 or 32 bits are", |g| {
            quantised(g, ElementType::F32, 1.0, 0);
        }),
        ("tensor `x` is of i64 and quantised, but only", |g| quantised(g, ElementType::I64, 1.0, 0)),
        ("tensor `x` is of i8 and quantised, but its scale is no positive number", |g| {
            quantised(g, ElementType::I8, f32::NAN, 0);
        }),
        ("tensor `x` is of u8 and quantised, but its zero point is beyond the type", |g| {
            quantised(g, ElementType::U8, 0.5, 256);
        }),
    ];
    for (message, change) in cases {
        let mut graph = network().unwrap();
        change(&mut graph);
        let result = check(&graph).map_err(|e| e.to_string());
        assert!(result.as_ref().is_err_and(|e| e.contains(message)), "wanted `{message}`, found {result:?}");
    }
}

#[test]
fn an_epilogue_may_add_fewer_channels() {
    let mut graph = network().unwrap();
    // The input has 3 channels and the result 4; the missing channel counts as zero.
    graph.nodes[n(0)].epilogue.add = Some(graph.inputs[0]);
    assert_eq!(check(&graph), Ok(()));
    graph.nodes[n(0)].epilogue.then = Act::Prelu(t(2));
    assert_eq!(check(&graph), Ok(()), "a constant of one alpha per channel");
    graph.nodes[n(0)].epilogue.then = Act::Prelu(graph.inputs[0]);
    assert!(matches!(check(&graph), Err(CheckError::NotConstant { role: "alpha", .. })));
}

#[test]
fn an_epilogue_may_not_add_more_channels() {
    let mut b = GraphBuilder::new("g");
    let (wide, x) = (b.input("wide", &[1, 2, 2, 5]).unwrap(), b.input("x", &[1, 2, 2, 4]).unwrap());
    let y = b.unary("y", Unary::Abs, x).unwrap();
    let mut graph = b.finish(&[y]).unwrap();
    graph.nodes[n(0)].epilogue.add = Some(wide);
    assert!(matches!(check(&graph), Err(CheckError::Epilogue { .. })));
}

#[test]
fn attributes_of_zero_or_without_bound_are_errors() {
    let x = Shape::new(1, 8, 8, 4);
    let w = Shape::new(4, 3, 3, 4);
    let max = usize::MAX;
    let good = conv(1, 1);
    let wide = Padding { top: max, ..Padding::default() };
    let pool = |window, stride, padding| Op::Pool2d(Pool2d::plain(PoolKind::Average, window, stride, padding));
    let border = Padding { top: 2, ..Padding::default() };
    let one: [(Op, &[Shape]); 26] = [
        (Op::Conv2d(Conv2d { stride: [0, 1], ..good }), &[x, w]),
        (Op::Conv2d(Conv2d { dilation: [1, 0], ..good }), &[x, w]),
        (Op::Conv2d(Conv2d { groups: 0, ..good }), &[x, w]),
        (Op::Conv2d(Conv2d { groups: 3, ..good }), &[x, w]),
        (Op::Conv2d(Conv2d { dilation: [max, 1], ..good }), &[x, w]),
        (Op::Conv2d(Conv2d { padding: wide, ..good }), &[x, w]),
        (Op::Conv2d(good), &[x, Shape::new(4, 0, 3, 4)]),
        (Op::Conv2d(good), &[x, w, Shape::new(1, 1, 1, 5)]),
        (Op::Conv2d(good), &[x]),
        (Op::DepthwiseConv2d(DepthwiseConv2d(good)), &[x, Shape::new(1, 3, 3, 6)]),
        (Op::DepthwiseConv2d(DepthwiseConv2d(good)), &[x, Shape::new(2, 3, 3, 4)]),
        (Op::TransposeConv(TransposeConv::plain([1, 0], Padding::default())), &[x, w]),
        (pool([0, 1], [1, 1], Padding::default()), &[x]),
        (pool([9, 1], [1, 1], Padding::default()), &[x]),
        (pool([2, 2], [1, 1], border), &[x]),
        (Op::Concat(Concat { axis: 4 }), &[x, x]),
        (Op::Concat(Concat { axis: 0 }), &[]),
        (Op::Transpose(Transpose { perm: [0, 1, 2, 2] }), &[x]),
        (Op::DepthToSpace(DepthToSpace { block: [0, 0], order: DepthOrder::Dcr }), &[x]),
        (Op::SpaceToDepth(SpaceToDepth { block: [3, 3] }), &[x]),
        (copy(0, &[]), &[x]),
        (copy(1, &[(x.len(), 1)]), &[x]),
        (copy(0, &[(x.len(), isize::MIN)]), &[x]),
        (copy(0, &[(x.len(), 1), (0, 1)]), &[x]),
        (copy(0, &[(x.len(), 1), (2, 0)]), &[x]),
        (copy(0, &[[(x.len(), 1)].as_slice(), &[(1, 1); 8]].concat()), &[x]),
    ];
    for (op, shapes) in one {
        assert!(infer(&op, shapes, x).is_err(), "{op:?}");
    }
    let pad = Op::Pad(Pad { before: [0, isize::MAX, 0, 0], after: [0; 4], mode: PadMode::Constant(0.0) });
    assert_eq!(infer(&pad, &[x], x), Err(ShapeError::Overflow { what: "height" }));
    let line = |window, stride, dilation, padding| {
        let [window, stride, dilation] = [window, stride, dilation].map(|n| [n, 1]);
        let pool = Pool2d { kind: PoolKind::Max, window, stride, dilation, padding, counted: None };
        infer(&Op::Pool2d(pool), &[x], x)
    };
    let below = |bottom| Padding { bottom, ..Padding::default() };
    assert_eq!(line(3, 2, 1, below(1)).map(|shape| shape.h), Ok(4));
    assert_eq!(line(3, 3, 1, below(3)).map(|shape| shape.h), Ok(3), "the last window hangs over");
    assert!(matches!(line(2, 3, 1, below(3)), Err(ShapeError::Outside { position: 3, .. })));
    assert_eq!(line(2, 1, 3, Padding { top: 3, ..below(3) }).map(|shape| shape.h), Ok(11));
    assert!(line(2, 1, 3, Padding { top: 4, ..below(3) }).is_err());
    assert!(line(3, 1, 9, Padding { top: 10, ..below(9) }).is_err(), "a window may not straddle the image");
    let cut = |before, after, mode| {
        infer(&Op::Pad(Pad { before: [0, before, 0, 0], after: [0, after, 0, 0], mode }), &[x], x)
    };
    assert_eq!(cut(-3, 1, PadMode::Reflect).map(|shape| shape.h), Ok(6));
    assert!(matches!(cut(-4, -4, PadMode::Constant(0.0)), Err(ShapeError::Cut { axis: 1, .. })));
    assert!(cut(-8, 2, PadMode::Edge).is_err());
    assert!(cut(-9, 2, PadMode::Constant(0.0)).is_err());
    assert!(infer(&Op::Tile, &[x], Shape::new(1, 12, 8, 4)).is_err());
    assert!(infer(&Op::Gather(Gather { axis: 4 }), &[x, Shape::new(1, 1, 1, 3)], x).is_err());
    assert!(infer(&Op::Gather(Gather { axis: 1 }), &[x, Shape::new(1, 1, 2, 3)], x).is_err());
    assert!(infer(&Op::GatherElements(GatherElements { axis: 1 }), &[x, Shape::new(1, 9, 9, 4)], x).is_err());
    let slice = |begin, stride| infer(&Op::StridedSlice(StridedSlice { begin, stride }), &[x], Shape::new(1, 4, 8, 4));
    assert!(slice([0, 1, 0, 0], [1, 2, 1, 1]).is_ok());
    assert!(slice([0, 7, 0, 0], [1, -2, 1, 1]).is_ok());
    assert!(slice([0, 2, 0, 0], [1, 2, 1, 1]).is_err());
    assert!(slice([0, 5, 0, 0], [1, -2, 1, 1]).is_err());
    assert!(slice([0, max, 0, 0], [1, isize::MIN, 1, 1]).is_err());
    assert!(slice([0, 0, 0, 0], [1, 0, 1, 1]).is_err());
}

#[test]
fn quantised_constants_stand_for_what_their_scales_say() {
    let bytes = |values: &[u8]| Bytes::from(values.to_vec());
    let mut constant = Constant::new(ElementType::I8, bytes(&[0, 127, 128, 255, 10, 246]));
    assert_eq!(*constant.to_f32(), [0.0, 127.0, -128.0, -1.0, 10.0, -10.0]);
    constant.scale = Some(QuantParams::whole(0.5, -2));
    assert_eq!(*constant.to_f32(), [1.0, 64.5, -63.0, 0.5, 6.0, -4.0]);
    assert_eq!(constant.to_i64(), Some(vec![0, 127, -128, -1, 10, -10]), "integers are what is stored");
    constant.scale = QuantParams::along(vec![1.0, 10.0], vec![0], &[2, 3], 0);
    assert_eq!(*constant.to_f32(), [0.0, 127.0, -128.0, -10.0, 100.0, -100.0]);
    constant.scale = QuantParams::along(vec![1.0, 2.0, 3.0], vec![0, 0, 1], &[2, 3], 1);
    assert_eq!(*constant.to_f32(), [0.0, 254.0, -387.0, -1.0, 20.0, -33.0]);
    assert_eq!(QuantParams::along(vec![1.0, 2.0], vec![0], &[2, 3], 1), None);
    assert_eq!(*Constant::new(ElementType::U8, bytes(&[0, 200])).to_f32(), [0.0, 200.0]);
    assert_eq!(*Constant::new(ElementType::Bool, bytes(&[0, 200, 1])).to_f32(), [0.0, 1.0, 1.0]);
}

#[test]
fn operators_on_values_check_their_operands() {
    let x = Shape::new(2, 4, 3, 5);
    let result = |op: Op, shapes: &[Shape]| infer(&op, shapes, x);
    let product = |transpose_b| Op::MatMul(MatMul { transpose_b });
    assert_eq!(result(product(false), &[x, Shape::new(1, 4, 5, 7)]), Ok(Shape::new(2, 4, 3, 7)));
    assert_eq!(result(product(true), &[x, Shape::new(2, 1, 7, 5)]), Ok(Shape::new(2, 4, 3, 7)));
    assert!(result(product(false), &[x, Shape::new(1, 4, 7, 5)]).is_err());
    assert!(result(product(false), &[x, Shape::new(3, 4, 5, 7)]).is_err());
    let top = |k| Op::TopK(TopK { k, largest: true, indices: false });
    assert_eq!(result(top(5), &[x]), Ok(x));
    assert_eq!(result(top(2), &[x]), Ok(Shape { c: 2, ..x }));
    assert!(result(top(0), &[x]).is_err());
    assert!(result(top(6), &[x]).is_err());
    let index = |axes| Op::Reduce(Reduce { kind: ReduceKind::ArgMax { last: false }, axes });
    assert_eq!(result(index([false, false, true, false]), &[x]), Ok(Shape { w: 1, ..x }));
    assert!(result(index([false, false, true, true]), &[x]).is_err());
    assert!(result(index([false; 4]), &[x]).is_err());
    let quantized = |by| result(Op::DynamicQuantize(DynamicQuantize { from_zero: false }), &[x, by]);
    assert_eq!(quantized(Shape::new(1, 1, 1, 2)), Ok(x));
    assert!(quantized(Shape::new(1, 1, 1, 1)).is_err());
    assert!(quantized(Shape::new(1, 1, 2, 2)).is_err());
    assert!(result(Op::CumSum(CumSum { axis: 4, exclusive: false, reverse: false }), &[x]).is_err());
    let segments =
        |of, into| result(Op::SegmentReduce(SegmentReduce { kind: SegmentKind::Sum, sorted: false }), &[of, into]);
    assert!(segments(x, Shape::new(1, 1, 1, x.w)).is_ok());
    assert!(segments(x, Shape::new(1, 1, 1, x.w + 1)).is_err());
    assert!(segments(x, Shape::new(1, 1, 2, x.w)).is_err());
    let listed = |into| result(Op::SegmentReduce(SegmentReduce { kind: SegmentKind::Sum, sorted: true }), &[x, into]);
    assert!(listed(Shape::new(1, 2, 2, 2)).is_ok());
    assert!(listed(Shape::new(1, 1, 2, 2)).is_err());
    assert!(listed(Shape::new(1, 1, 1, x.w)).is_err());
    let located = |sums, ends, places| infer(&Op::Locate, &[sums, ends], places);
    let (sums, ends) = (Shape::new(1, 4, 1, 5), Shape::new(1, 1, 1, 4));
    assert!(located(sums, ends, Shape::new(1, 1, 1, 20)).is_ok());
    assert!(located(sums, ends, Shape::new(1, 1, 1, 21)).is_err());
    assert!(located(sums, ends, Shape::new(1, 2, 1, 5)).is_err());
    assert!(located(sums, Shape::new(1, 1, 1, 5), ends).is_err());
    assert!(located(x, ends, ends).is_err());
    assert!(result(Op::Lrn(Lrn { size: 0, alpha: 1.0, beta: 1.0, bias: 1.0 }), &[x]).is_err());
    let sum = |arithmetic| result(Op::QuantizedAdd(QuantizedAdd { arithmetic, least: 0, most: 9 }), &[x, x]);
    let [one, less] = [1.0, 0.9].map(FixedPoint::new);
    assert_eq!(sum(QuantizedSum::Fixed { factors: [less; 2], result: less }), Ok(x));
    assert!(sum(QuantizedSum::Fixed { factors: [less, one], result: less }).is_err());
    assert_eq!(sum(QuantizedSum::Shift { factors: [-(1 << 21), 1 << 21], shift: 30 }), Ok(x));
    assert!(sum(QuantizedSum::Shift { factors: [i32::MIN, 0], shift: 30 }).is_err());
    assert!(sum(QuantizedSum::Shift { factors: [1, 1], shift: 0 }).is_err());
    assert_eq!(sum(QuantizedSum::Float { ratios: [255.9, 0.0001], zeros: [-128, 255], zero: 255 }), Ok(x));
    assert!(sum(QuantizedSum::Float { ratios: [1.0, f32::NAN], zeros: [0; 2], zero: 0 }).is_err());
    assert!(sum(QuantizedSum::Float { ratios: [1.0; 2], zeros: [0, 256], zero: 0 }).is_err());
}

/// A norm's power is a number of multiplications per pixel of a window, so a small file could keep a device busy for
/// hours.
#[test]
fn norms_have_powers_that_a_kernel_can_work_out() {
    let pooled = |p| {
        let mut b = GraphBuilder::new("norm");
        let x = b.input("x", &[1, 4, 4, 3]).unwrap();
        b.pool("y", Pool2d::plain(PoolKind::Lp { p }, [2, 2], [2, 2], Padding::default()), x)
    };
    assert!(pooled(256).is_ok());
    for p in [0, 257, u32::MAX] {
        assert!(pooled(p).unwrap_err().to_string().contains("power"), "{p}");
    }
}
