//! NaN passes through every kernel as through its reference (as the functions of `texpool_ops::graph` define), and
//! neighbouring values stay numbers.

use texpool_ops::graph::{
    Act, Binary, Conv2d, CoordMode, CumSum, DepthwiseConv2d, Epilogue, GraphBuilder, Lrn, MatMul, Normalize, Op,
    Padding, Pool2d, PoolKind, Reduce, ReduceKind, Resize, ResizeMode, Softmax, Statistic, TopK, Unary,
};

use super::{TRUTHS, case, constant, harness::Harness, one_node, placed};

const DIMS: [usize; 4] = [2, 3, 5, 7];
const ALL: [bool; 4] = [false, true, true, true];

/// About every ninth value is NaN, of either sign; the others are from a quarter to two.
fn holes(x: f32) -> f32 {
    match (x.abs() * 8192.0) as u32 % 9 {
        0 if x < 0.0 => -f32::NAN,
        0 => f32::NAN,
        _ => x.abs(),
    }
}

/// NaN among values of either sign.
fn signed_holes(x: f32) -> f32 {
    if holes(x).is_nan() { f32::NAN } else { x }
}

/// NaN and infinities among the values.
fn ends(x: f32) -> f32 {
    // Not modulo 7: the random values are 3.5 apart then, and take two of the seven cases.
    match (x.abs() * 8192.0) as u32 % 5 {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        _ => x,
    }
}

/// NaN passes through every function that is defined to pass it on, although WGSL does not guarantee that.
#[test]
fn functions_of_one_value() {
    let mut harness = Harness::new();
    let bounds = [
        Unary::Relu,
        Unary::Relu6,
        Unary::ReluN1To1,
        Unary::LeakyRelu { alpha: 0.2 },
        Unary::Clip { min: -0.5, max: 1.25 },
        Unary::ThresholdedRelu { alpha: 0.7 },
        Unary::Shrink { bias: 0.25, lambda: 0.5 },
        Unary::HardSigmoid { alpha: 0.3, beta: 0.4 },
        Unary::Abs,
        Unary::Neg,
        Unary::Sign,
        Unary::Floor,
        Unary::Ceil,
        Unary::Round,
        Unary::Trunc,
        Unary::ToHalf,
        Unary::Not,
        Unary::NotZero,
        Unary::IsNan,
        Unary::IsInf { negative: true, positive: true },
        Unary::FakeQuant { scale: 0.125, least: -7, most: 10 },
    ];
    harness.inputs(ends);
    for unary in bounds {
        case(&mut harness, Op::Unary(unary), &[placed(DIMS)], DIMS);
    }
    let smooth = [
        Unary::Elu { alpha: 1.3 },
        Unary::Selu { alpha: 1.673, gamma: 1.0507 },
        Unary::Celu { alpha: 0.8 },
        Unary::HardSwish,
        Unary::Logistic,
        Unary::Silu,
        Unary::Gelu,
        Unary::GeluTanh,
        Unary::Softplus,
        Unary::Softsign,
        Unary::Mish,
        Unary::Exp,
        Unary::Log,
        Unary::Sqrt,
        Unary::Rsqrt,
        Unary::Square,
        Unary::Reciprocal,
        Unary::Erf,
        Unary::Sin,
        Unary::Cos,
        Unary::Atan,
        Unary::Sinh,
        Unary::Cosh,
        Unary::Tanh,
        Unary::Asinh,
    ];
    harness.inputs(holes);
    for unary in smooth {
        case(&mut harness, Op::Unary(unary), &[placed(DIMS)], DIMS);
    }
    harness.inputs(|x| holes(x) * 0.4);
    for unary in [Unary::Tan, Unary::Asin, Unary::Acos, Unary::Atanh] {
        case(&mut harness, Op::Unary(unary), &[placed(DIMS)], DIMS);
    }
    harness.inputs(|x| holes(x) + 1.0);
    case(&mut harness, Op::Unary(Unary::Acosh), &[placed(DIMS)], DIMS);
}

/// Arguments outside a function's domain, and infinite bases of powers.
#[test]
fn arguments_that_have_no_answer() {
    let mut harness = Harness::new();
    harness.inputs(|x| 4.0 * x);
    for unary in [Unary::Log, Unary::Sqrt, Unary::Rsqrt, Unary::Asin, Unary::Acos, Unary::Acosh, Unary::Atanh] {
        case(&mut harness, Op::Unary(unary), &[placed(DIMS)], DIMS);
    }
    harness.inputs(|x| match (x.abs() * 8192.0) as u32 % 5 {
        0 => f32::NEG_INFINITY,
        1 => f32::INFINITY,
        // Powers that 16 bits hold.
        _ => 0.5 * x,
    });
    for exponent in [2.5, 7.25, -0.75, 3.0, 17.0, -1.0] {
        let mut b = GraphBuilder::new("power");
        let (base, exponent) = (b.input("base", &DIMS).unwrap(), b.constant("n", &[1], &[exponent]).unwrap());
        let power = b.node("power", Op::Binary(Binary::Pow), &[base, exponent], Act::None).unwrap();
        harness.check(&b.finish(&[power]).unwrap());
    }
}

/// NaN in an epilogue, behind another function and in front of one.
#[test]
fn functions_in_epilogues() {
    let mut harness = Harness::new();
    harness.inputs(signed_holes);
    for unary in [
        Unary::Relu,
        Unary::Relu6,
        Unary::Clip { min: -0.5, max: 1.25 },
        Unary::HardSwish,
        Unary::Tanh,
        Unary::FakeQuant { scale: 0.125, least: -7, most: 10 },
    ] {
        for epilogue in [
            Epilogue::of(Act::Unary(unary)),
            Epilogue { first: Act::Unary(unary), add: None, then: Act::Unary(Unary::Relu) },
        ] {
            let operands = [placed(DIMS), constant([9, 1, 1, 7]), constant([1, 1, 1, 9])];
            let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding::default(), groups: 1 };
            harness.check(&one_node(Op::Conv2d(conv), &operands, [2, 3, 5, 9].into(), epilogue));
        }
    }
}

/// NaN on either side, and infinities.
#[test]
fn functions_of_two_values() {
    let mut harness = Harness::new();
    let arithmetic = [Binary::Add, Binary::Mul, Binary::Div, Binary::Maximum, Binary::Minimum, Binary::Pow];
    let all = [&arithmetic[..], &TRUTHS].concat();
    harness.inputs(holes);
    for binary in all {
        case(&mut harness, Op::Binary(binary), &[placed(DIMS), placed(DIMS)], DIMS);
        case(&mut harness, Op::Binary(binary), &[placed(DIMS), placed([1, 1, 1, 7])], DIMS);
    }
    harness.inputs(ends);
    for binary in
        [Binary::Maximum, Binary::Minimum, Binary::Equal, Binary::NotEqual, Binary::Less, Binary::GreaterEqual]
    {
        case(&mut harness, Op::Binary(binary), &[placed(DIMS), placed(DIMS)], DIMS);
        case(&mut harness, Op::Binary(binary), &[constant([1, 1, 1, 7]), placed(DIMS)], DIMS);
    }
}

/// Reductions, indices and TopK over values of which some are NaN.
#[test]
fn the_greatest_and_the_least() {
    let mut harness = Harness::new();
    let kinds = [
        ReduceKind::Max,
        ReduceKind::Min,
        ReduceKind::Sum,
        ReduceKind::Mean,
        ReduceKind::Prod,
        ReduceKind::L2,
        ReduceKind::LogSumExp,
    ];
    harness.inputs(|x| holes(x) * if x > 1.5 { 1.0 } else { 0.5 });
    for kind in kinds {
        for axes in [[false, true, false, false], [false, false, false, true], ALL] {
            let out: Vec<usize> =
                DIMS.iter().zip(axes).map(|(&extent, reduced)| if reduced { 1 } else { extent }).collect();
            case(&mut harness, Op::Reduce(Reduce { kind, axes }), &[placed(DIMS)], out.try_into().unwrap());
        }
    }
    for last in [false, true] {
        for kind in [ReduceKind::ArgMax { last }, ReduceKind::ArgMin { last }] {
            for axis in 1..4 {
                let (mut axes, mut out) = ([false; 4], DIMS);
                (axes[axis], out[axis]) = (true, 1);
                case(&mut harness, Op::Reduce(Reduce { kind, axes }), &[placed(DIMS)], out);
            }
        }
    }
    for (largest, indices) in [(true, false), (true, true), (false, false), (false, true)] {
        case(&mut harness, Op::TopK(TopK { k: 5, largest, indices }), &[placed(DIMS)], [2, 3, 5, 5]);
        case(&mut harness, Op::TopK(TopK { k: 40, largest, indices }), &[placed([1, 2, 1, 500])], [1, 2, 1, 40]);
    }
}

/// Kernels that combine many values: NaN reaches every result that reads it, and no other.
#[test]
fn windows_and_lines() {
    let mut harness = Harness::new();
    harness.inputs(|x| if (x * 8192.0) as i32 % 23 == 0 { f32::NAN } else { x });
    let around = Padding { top: 1, bottom: 1, left: 1, right: 1 };
    for kind in [PoolKind::Max, PoolKind::Average, PoolKind::Lp { p: 2 }, PoolKind::Lp { p: 3 }] {
        case(&mut harness, Op::Pool2d(Pool2d::plain(kind, [3, 3], [1, 1], around)), &[placed(DIMS)], DIMS);
    }
    case(&mut harness, Op::Softmax(Softmax { beta: 1.0, log: false }), &[placed(DIMS)], DIMS);
    case(&mut harness, Op::Softmax(Softmax { beta: 1.0, log: true }), &[placed([1, 1, 2, 300])], [1, 1, 2, 300]);
    let channels = [false, false, false, true];
    case(&mut harness, Op::Normalize(Normalize::variance(channels, 1e-3)), &[placed(DIMS)], DIMS);
    let norm = Normalize { least: 1e-6, ..Normalize::new(channels, Statistic::SumSquare, 0.0) };
    case(&mut harness, Op::Normalize(norm), &[placed(DIMS)], DIMS);
    case(&mut harness, Op::CumSum(CumSum { axis: 3, exclusive: true, reverse: false }), &[placed(DIMS)], DIMS);
    case(&mut harness, Op::Lrn(Lrn { size: 3, alpha: 0.1, beta: 0.75, bias: 1.0 }), &[placed(DIMS)], DIMS);
    case(&mut harness, Op::Prelu, &[placed(DIMS), constant([1, 1, 1, 7])], DIMS);
    let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: around, groups: 1 };
    case(&mut harness, Op::Conv2d(conv), &[placed(DIMS), constant([5, 3, 3, 7]), constant([1, 1, 1, 5])], [2, 3, 5, 5]);
    case(&mut harness, Op::DepthwiseConv2d(DepthwiseConv2d(conv)), &[placed(DIMS), constant([1, 3, 3, 7])], DIMS);
    case(&mut harness, Op::FullyConnected, &[placed([1, 1, 6, 7]), constant([1, 1, 5, 7])], [1, 1, 6, 5]);
    case(
        &mut harness,
        Op::MatMul(MatMul { transpose_b: false }),
        &[placed([1, 2, 3, 6]), placed([1, 2, 6, 5])],
        [1, 2, 3, 5],
    );
    let nearest = ResizeMode::nearest_in(CoordMode::HalfPixel);
    let resize = Op::Resize(Resize { mode: nearest, coords: CoordMode::HalfPixel, scale: None });
    case(&mut harness, resize, &[placed(DIMS)], [2, 6, 10, 7]);
}
