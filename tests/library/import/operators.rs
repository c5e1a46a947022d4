//! Operators that compute: options, explicit padding, fused activations, weights.

use texpool_ops::graph::{
    Act, Binary, Conv2d, CoordMode, DepthOrder, DepthToSpace, DepthwiseConv2d, Graph, Op, Padding, Pool2d, PoolKind,
    Resize, ResizeMode, Softmax, SpaceToDepth, TransposeConv, Unary,
};

use super::import;
use crate::support::{
    graphs::n,
    tflite::{Field, Model, Options, Table, conv, flags, numbers},
};

/// A graph of one operator, with an input, float constants, and a result.
fn one(code: i32, x: &[i32], weights: &[&[i32]], options: Option<Options>, result: &[i32]) -> Result<Graph, String> {
    let mut m = Model::new();
    let x = m.floats("x", x);
    let mut operands = vec![x];
    for (i, dims) in weights.iter().enumerate() {
        operands.push(m.weights(&format!("w{i}"), dims));
    }
    let y = m.floats("y", result);
    m.op(code, &operands, y, options);
    import(m.bytes(&[x], &[y])).map_err(|e| e.to_string())
}

fn only(graph: Result<Graph, String>) -> (Op, Act) {
    match graph.map(|g| g.nodes) {
        Ok(nodes) if nodes.len() == 1 => (nodes[n(0)].op.clone(), nodes[n(0)].epilogue.first),
        other => unreachable!("{other:?} is no single node"),
    }
}

/// With SAME and an odd amount of padding, the additional pixel is at the end.
#[test]
fn same_padding_is_tensorflows() {
    // Extent, window, stride, dilation; output extent, border before and behind (from tf.nn's documentation formulas).
    let cases = [
        (224, 3, 2, 1, 112, 0, 1),
        (225, 3, 2, 1, 113, 1, 1),
        (9, 3, 1, 1, 9, 1, 1),
        (9, 3, 1, 2, 9, 2, 2),
        (33, 3, 1, 12, 33, 12, 12),
        (9, 4, 1, 1, 9, 1, 2),
        (9, 1, 2, 1, 5, 0, 0),
        (8, 1, 3, 1, 3, 0, 0),
        (5, 5, 5, 1, 1, 0, 0),
        (6, 5, 5, 1, 2, 2, 2),
    ];
    for (extent, window, stride, dilation, result, before, behind) in cases {
        let (op, _) = only(one(
            3,
            &[1, extent, extent, 1],
            &[&[1, window, window, 1]],
            conv(0, stride, dilation, 0),
            &[1, result, result, 1],
        ));
        let padding = Padding { top: before, bottom: behind, left: before, right: behind };
        let (stride, dilation) = ([stride as usize; 2], [dilation as usize; 2]);
        assert_eq!(op, Op::Conv2d(Conv2d { stride, dilation, padding, groups: 1 }), "{extent} by {window}");
    }
}

/// VALID padding, groups from the weights' channels, fused activations, and refusals.
#[test]
fn convolutions_valid_grouped_and_with_every_activation() {
    let (op, _) = only(one(3, &[2, 9, 7, 6], &[&[4, 3, 2, 3], &[4]], conv(1, 2, 1, 0), &[2, 4, 3, 4]));
    let plain = Conv2d { stride: [2, 2], dilation: [1, 1], padding: Padding::default(), groups: 2 };
    assert_eq!(op, Op::Conv2d(plain));
    let acts = [
        (0, Act::None),
        (1, Act::Unary(Unary::Relu)),
        (2, Act::Unary(Unary::ReluN1To1)),
        (3, Act::Unary(Unary::Relu6)),
        (4, Act::Unary(Unary::Tanh)),
    ];
    for (code, act) in acts {
        assert_eq!(only(one(3, &[1, 3, 3, 1], &[&[1, 3, 3, 1]], conv(1, 1, 1, code), &[1, 1, 1, 1])).1, act);
    }
    let refused = |options, result: &[i32]| one(3, &[1, 3, 3, 2], &[&[1, 3, 3, 2]], options, result).unwrap_err();
    assert!(refused(conv(1, 1, 1, 5), &[1, 1, 1, 1]).contains("SIGN_BIT"));
    assert!(refused(conv(1, 1, 1, 9), &[1, 1, 1, 1]).contains("activation 9"));
    assert!(refused(conv(2, 1, 1, 0), &[1, 1, 1, 1]).contains("padding 2"));
    assert!(refused(conv(1, 0, 1, 0), &[1, 1, 1, 1]).contains("stride is 0"));
    assert!(refused(conv(1, 1, -1, 0), &[1, 1, 1, 1]).contains("dilation is -1"));
    assert!(refused(conv(1, 1, 2, 0), &[1, 1, 1, 1]).contains("does not fit"));
    assert!(refused(conv(1, 1, 1, 0), &[1, 2, 1, 1]).contains("stated as [1, 2, 1, 1]"));
    assert!(refused(flags(11, &[0]), &[1, 1, 1, 1]).contains("another operator's"));
    assert!(refused(None, &[1, 1, 1, 1]).contains("stride is 0"), "a stride has no default");
    assert!(
        one(3, &[1, 3, 3, 5], &[&[1, 3, 3, 2]], conv(1, 1, 1, 0), &[1, 1, 1, 1]).unwrap_err().contains("5 channels")
    );
    assert!(
        one(3, &[3, 3, 2], &[&[1, 3, 3, 2]], conv(1, 1, 1, 0), &[1, 1, 1, 1]).unwrap_err().contains("four extents")
    );
}

/// Options name the width first, and the multiplier follows from the weights.
#[test]
fn depthwise_convolutions_with_a_multiplier() {
    let options = Table(vec![
        (4, Field::I8(0)),
        (6, Field::I32(1)),
        (8, Field::I32(2)),
        (10, Field::I32(2)),
        (14, Field::I32(3)),
    ]);
    let (op, _) = only(one(4, &[1, 9, 9, 3], &[&[1, 3, 3, 6], &[6]], Some((2, options)), &[1, 5, 9, 6]));
    let padding = Padding { top: 1, bottom: 1, left: 3, right: 3 };
    // The options name the width first.
    assert_eq!(
        op,
        Op::DepthwiseConv2d(DepthwiseConv2d(Conv2d { stride: [2, 1], dilation: [1, 3], padding, groups: 1 }))
    );
}

/// Windows, strides and padding of both pools.
#[test]
fn pools_and_their_windows() {
    let options = |padding| {
        Some((
            5,
            Table(vec![
                (4, Field::I8(padding)),
                (6, Field::I32(2)),
                (8, Field::I32(1)),
                (10, Field::I32(3)),
                (12, Field::I32(2)),
                (14, Field::I8(1)),
            ]),
        ))
    };
    let (op, act) = only(one(1, &[1, 5, 6, 2], &[], options(0), &[1, 5, 3, 2]));
    let padding = Padding { top: 0, bottom: 1, left: 0, right: 1 };
    assert_eq!(op, Op::Pool2d(Pool2d::plain(PoolKind::Average, [2, 3], [1, 2], padding)));
    assert_eq!(act, Act::Unary(Unary::Relu));
    let (op, _) = only(one(17, &[1, 5, 6, 2], &[], options(1), &[1, 4, 2, 2]));
    assert_eq!(op, Op::Pool2d(Pool2d::plain(PoolKind::Max, [2, 3], [1, 2], Padding::default())));
}

/// TRANSPOSE_CONV of `x` to a stated result.
fn transposed(
    x: &[i32],
    weights: &[i32],
    result: &[i32],
    padding: i8,
    stride: i32,
    bias: bool,
) -> Result<Graph, String> {
    let mut m = Model::new();
    let (x, shape, w) = (m.floats("x", x), m.ints("shape", result), m.weights("w", weights));
    let mut operands = vec![shape, w, x];
    if bias {
        operands.push(m.weights("b", &weights[..1]));
    }
    let y = m.floats("y", result);
    let options =
        Table(vec![(4, Field::I8(padding)), (6, Field::I32(stride)), (8, Field::I32(stride)), (10, Field::I8(1))]);
    m.op(67, &operands, y, Some((49, options)));
    import(m.bytes(&[x], &[y])).map_err(|e| e.to_string())
}

/// The output's shape as an operand, with both paddings.
#[test]
fn transposed_convolutions() {
    // 4 by a window of 3, stride 2: the full result is 9; SAME to 8 cuts one pixel, behind.
    let graph = transposed(&[1, 4, 4, 2], &[3, 3, 3, 2], &[1, 8, 8, 3], 0, 2, true);
    assert_eq!(graph.as_ref().map(|g| g.nodes[n(0)].inputs.len()), Ok(3), "input, weights, bias; no shape");
    let padding = Padding { top: 0, bottom: 1, left: 0, right: 1 };
    assert_eq!(only(graph), (Op::TransposeConv(TransposeConv::plain([2, 2], padding)), Act::Unary(Unary::Relu)));
    // SAME to 7: the convolution of 7 has a border of one on both sides.
    let padding = Padding { top: 1, bottom: 1, left: 1, right: 1 };
    let (op, _) = only(transposed(&[1, 4, 4, 2], &[3, 3, 3, 2], &[1, 7, 7, 3], 0, 2, false));
    assert_eq!(op, Op::TransposeConv(TransposeConv::plain([2, 2], padding)));
    let (op, _) = only(transposed(&[1, 4, 4, 2], &[3, 3, 3, 2], &[1, 9, 9, 3], 1, 2, false));
    assert_eq!(op, Op::TransposeConv(TransposeConv::plain([2, 2], Padding::default())));
    assert!(transposed(&[1, 4, 4, 1], &[3, 3, 3, 2], &[1, 9, 9, 3], 1, 2, false).is_err());
}

/// The custom operator by its raw options, and MediaPipe's own SAME.
#[test]
fn mediapipes_transposed_convolution_with_a_bias() {
    let custom = |options: &[i32], result: &[i32]| {
        let mut m = Model::new();
        let (x, w, b) = (m.floats("x", &[1, 4, 5, 2]), m.weights("w", &[3, 4, 4, 2]), m.weights("b", &[3]));
        let y = m.floats("y", result);
        m.custom("Convolution2DTransposeBias", &[x, w, b], y, options.iter().flat_map(|v| v.to_le_bytes()).collect());
        import(m.bytes(&[x], &[y])).map_err(|e| e.to_string())
    };
    let (op, _) = only(custom(&[2, 2, 3], &[1, 13, 12, 3]));
    assert_eq!(op, Op::TransposeConv(TransposeConv::plain([3, 2], Padding::default())));
    // SAME cuts max(0, 4 - 3 % 3 - 1) = 3 rows, one above, and max(0, 4 - 4 % 2 - 1) = 3 columns, one before.
    let (op, _) = only(custom(&[1, 2, 3], &[1, 10, 9, 3]));
    let padding = Padding { top: 1, bottom: 2, left: 1, right: 2 };
    assert_eq!(op, Op::TransposeConv(TransposeConv::plain([3, 2], padding)));
    assert!(custom(&[1, 2], &[1, 10, 9, 3]).unwrap_err().contains("cut short"));
    assert!(custom(&[0, 2, 3], &[1, 10, 9, 3]).unwrap_err().contains("padding 0"));
    assert!(custom(&[1, 2, 3], &[1, 9, 9, 3]).unwrap_err().contains("stated as [1, 9, 9, 3]"));
}

/// `keep_num_dims`.
#[test]
fn fully_connected_keeps_or_folds_the_outer_extents() {
    let options = |keep| Some((8, Table(vec![(4, Field::I8(1)), (8, Field::Bool(keep))])));
    let dims = |graph: Result<Graph, String>| graph.map(|g| g.tensors[g.outputs[0]].dims.clone());
    assert_eq!(dims(one(9, &[2, 3, 4], &[&[5, 4], &[5]], options(true), &[2, 3, 5])), Ok(vec![2, 3, 5]));
    assert_eq!(dims(one(9, &[2, 3, 4], &[&[5, 4], &[5]], options(false), &[6, 5])), Ok(vec![6, 5]));
    assert_eq!(dims(one(9, &[1, 2, 2, 3], &[&[5, 12]], options(false), &[1, 5])), Ok(vec![1, 5]));
    let (op, act) = only(one(9, &[4], &[&[5, 4]], options(false), &[1, 5]));
    assert_eq!((op, act), (Op::FullyConnected, Act::Unary(Unary::Relu)));
    assert!(one(9, &[2, 3, 4], &[&[5, 12]], options(true), &[2, 3, 5]).unwrap_err().contains("end in 12"));
    assert!(one(9, &[2, 3], &[&[5, 4]], options(false), &[1, 5]).unwrap_err().contains("no multiple"));
    let shuffled = Some((8, Table(vec![(6, Field::I8(1))])));
    assert!(one(9, &[1, 4], &[&[5, 4]], shuffled, &[1, 5]).unwrap_err().contains("shuffled"));
}

/// Each operator becomes the function of the same name.
#[test]
fn every_function_of_one_value() {
    let alpha = Some((75, Table(vec![(4, Field::F32(0.25))])));
    let cases = [
        (19, None, Unary::Relu),
        (20, None, Unary::ReluN1To1),
        (21, None, Unary::Relu6),
        (98, alpha, Unary::LeakyRelu { alpha: 0.25 }),
        (111, None, Unary::Elu { alpha: 1.0 }),
        (117, None, Unary::HardSwish),
        (14, None, Unary::Logistic),
        (28, None, Unary::Tanh),
        (47, None, Unary::Exp),
        (75, None, Unary::Sqrt),
        (76, None, Unary::Rsqrt),
        (92, None, Unary::Square),
        (101, None, Unary::Abs),
        (59, None, Unary::Neg),
    ];
    for (code, options, unary) in cases {
        for dims in [&[][..], &[3], &[2, 3, 4, 5], &[2, 2, 1, 3, 2]] {
            let (op, _) = only(one(code, dims, &[], options.clone(), dims));
            assert_eq!((op.name(), &op), (unary.name(), &Op::Unary(unary)), "{dims:?}");
        }
        assert!(one(code, &[3], &[], options, &[4]).is_err());
    }
}

/// Each operator becomes the function of the same name, with its activation.
#[test]
fn every_function_of_two_values() {
    let cases = [
        (0, 11, Binary::Add),
        (41, 28, Binary::Sub),
        (18, 21, Binary::Mul),
        (42, 29, Binary::Div),
        (55, 0, Binary::Maximum),
        (57, 0, Binary::Minimum),
    ];
    for (code, tag, binary) in cases {
        let options = (tag != 0).then(|| flags(tag, &[1])).flatten();
        let act = if tag == 0 { Act::None } else { Act::Unary(Unary::Relu) };
        let graph = one(code, &[1, 2, 2, 3], &[&[3]], options, &[1, 2, 2, 3]);
        assert_eq!(only(graph), (Op::Binary(binary), act));
    }
}

/// Alphas without leading extents, beta, and block sizes.
#[test]
fn prelu_softmax_and_blocks() {
    assert_eq!(only(one(54, &[1, 2, 2, 3], &[&[1, 1, 3]], None, &[1, 2, 2, 3])).0, Op::Prelu);
    assert_eq!(only(one(54, &[1, 2, 2, 3], &[&[2, 2, 3]], None, &[1, 2, 2, 3])).0, Op::Prelu);
    assert!(one(54, &[1, 1, 1, 3], &[&[2, 2, 3]], None, &[1, 2, 2, 3]).is_err(), "alpha repeats, not the input");
    let beta = Some((9, Table(vec![(4, Field::F32(0.5))])));
    assert_eq!(only(one(25, &[2, 7], &[], beta, &[2, 7])).0, Op::Softmax(Softmax { beta: 0.5, log: false }));
    assert_eq!(
        only(one(5, &[1, 2, 3, 8], &[], numbers(94, &[2]), &[1, 4, 6, 2])).0,
        Op::DepthToSpace(DepthToSpace { block: [2, 2], order: DepthOrder::Dcr })
    );
    assert_eq!(
        only(one(26, &[1, 4, 6, 2], &[], numbers(19, &[2]), &[1, 2, 3, 8])).0,
        Op::SpaceToDepth(SpaceToDepth { block: [2, 2] })
    );
    assert!(one(5, &[1, 2, 3, 6], &[], numbers(94, &[2]), &[1, 4, 6, 1]).unwrap_err().contains("no multiple of 4"));
    assert!(one(26, &[1, 4, 6, 2], &[], numbers(19, &[0]), &[1, 4, 6, 2]).unwrap_err().contains("block is 0"));
}

/// `align_corners` and `half_pixel_centers`.
#[test]
fn resizes_in_all_coordinate_modes() {
    let resize = |code: i32, tag: i8, flags: [(u16, bool); 2], size: &[i32]| {
        let mut m = Model::new();
        let (x, size, y) = (m.floats("x", &[1, 4, 4, 3]), m.ints("size", size), m.floats("y", &[1, 8, 6, 3]));
        m.op(code, &[x, size], y, Some((tag, Table(flags.map(|(slot, on)| (slot, Field::Bool(on))).to_vec()))));
        import(m.bytes(&[x], &[y])).map_err(|e| e.to_string())
    };
    let modes = [
        (false, false, CoordMode::Asymmetric),
        (false, true, CoordMode::HalfPixel),
        (true, false, CoordMode::AlignCorners),
    ];
    for (code, tag, linear, corners) in [(23, 15, true, 8), (97, 74, false, 4)] {
        for (align, half, coords) in modes {
            let (op, _) = only(resize(code, tag, [(corners, align), (corners + 2, half)], &[8, 6]));
            let mode = if linear { ResizeMode::Linear } else { ResizeMode::nearest_in(coords) };
            assert_eq!(op, Op::Resize(Resize { mode, coords, scale: None }));
        }
        assert!(resize(code, tag, [(corners, true), (corners + 2, true)], &[8, 6]).unwrap_err().contains("at once"));
        assert!(resize(code, tag, [(corners, false), (corners + 2, false)], &[6, 8]).unwrap_err().contains("stated"));
        assert!(resize(code, tag, [(corners, false), (corners + 2, false)], &[8]).unwrap_err().contains("must be two"));
    }
}
