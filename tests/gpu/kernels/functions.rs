//! Functions of one and two values as separate steps, over the ranges in which they are defined.

use texpool_ops::{
    graph::{Act, Binary, Epilogue, Op, Unary},
    kernels::EpilogueParams,
};

use super::{TRUTHS, case, constant, harness::Harness, one_node, placed};
use crate::support::graphs::n;

const DIMS: [usize; 4] = [2, 3, 5, 7];

/// Maps random values into the domain of a function of one value.
fn domain(unary: Unary) -> fn(f32) -> f32 {
    match unary {
        Unary::Log | Unary::Sqrt | Unary::Rsqrt => |x| x.abs(),
        Unary::Asin | Unary::Acos | Unary::Atanh => |x| 0.499 * x,
        Unary::Acosh => |x| 1.0 + x.abs(),
        Unary::Tan => |x| 0.7 * x,
        _ => |x| x,
    }
}

/// Tests every function in the table: as a separate step and, where possible, in an epilogue. A function that shaders
/// do not know gives NaN, never its operand.
#[test]
fn every_function_of_the_tables() {
    let mut harness = Harness::new();
    let mut in_epilogues = 0;
    for &unary in Unary::EXAMPLES {
        check(&mut harness, domain(unary), &[unary]);
        let all = Op::Unary(Unary::Clip { min: f32::MIN, max: f32::MAX });
        let graph = one_node(all, &[placed(DIMS)], DIMS.into(), Epilogue::of(Act::Unary(unary)));
        if EpilogueParams::of_node(&graph, &graph.nodes[n(0)]).codes != [0; 2] {
            in_epilogues += 1;
            harness.check(&graph);
        }
    }
    assert!(in_epilogues > 10, "{in_epilogues}");
    for &binary in Binary::ALL {
        let inputs: fn(f32) -> f32 = if binary == Binary::Pow { |x| x.abs() } else { |x| x };
        harness.inputs(inputs);
        case(&mut harness, Op::Binary(binary), &[placed(DIMS), placed(DIMS)], DIMS);
    }
}

/// Angles of many turns: the remainder of a turn is as precise as that of small angles.
#[test]
fn large_angles() {
    let mut harness = Harness::new();
    let circular = [Unary::Sin, Unary::Cos, Unary::Tan];
    for inputs in [(|x| 300.0 * x) as fn(f32) -> f32, |x| 4096.0 * x, |x| 1e6 * x, |x| 1e12 * x, |x| 1.7e38 * x] {
        check(&mut harness, inputs, &circular[..2]);
    }
    // Whole numbers with few digits are never near a pole.
    check(&mut harness, |x| (1e5 * x).round(), &circular);
}

/// Quotients that are not exact in floats: the remainder is still exact.
#[test]
fn rests_of_large_quotients() {
    let mut harness = Harness::new();
    for (inputs, spread) in [
        ((|x| 1e4 * x) as fn(f32) -> f32, 1e-6),
        (|x| 1e7 * x, 1e-8),
        (|x| 1e38 * x, 1e-38),
        // The divisor has the higher exponent.
        (|x| 1e-3 * x, 1e6),
    ] {
        harness.inputs(inputs);
        harness.spread(spread);
        for binary in [Binary::Mod, Binary::Fmod] {
            case(&mut harness, Op::Binary(binary), &[placed(DIMS), placed(DIMS)], DIMS);
        }
    }
    // Quotients that are nearly whole, of numbers with many significant bits.
    harness.spread(0.01);
    harness.inputs(|x| (x * 2000.0).round() * 0.1);
    for binary in [Binary::FloorDiv, Binary::Mod, Binary::Fmod] {
        case(&mut harness, Op::Binary(binary), &[placed(DIMS), placed(DIMS)], DIMS);
    }
}

fn check(harness: &mut Harness, inputs: fn(f32) -> f32, unaries: &[Unary]) {
    harness.inputs(inputs);
    for &unary in unaries {
        case(harness, Op::Unary(unary), &[placed(DIMS)], DIMS);
    }
}

/// Near zero, where each function bends, and where it is flat or a line.
#[test]
fn activations() {
    let mut harness = Harness::new();
    let activations = [
        Unary::Elu { alpha: 1.3 },
        Unary::Selu { alpha: 1.673, gamma: 1.0507 },
        Unary::Celu { alpha: 0.8 },
        Unary::ThresholdedRelu { alpha: 0.7 },
        Unary::HardSigmoid { alpha: 0.3, beta: 0.4 },
        Unary::Clip { min: -0.5, max: 1.25 },
        Unary::Silu,
        Unary::Gelu,
        Unary::GeluTanh,
        Unary::Softplus,
        Unary::Softsign,
        Unary::Mish,
        Unary::Shrink { bias: 0.25, lambda: 0.5 },
    ];
    check(&mut harness, |x| x, &activations);
    check(&mut harness, |x| 12.0 * x, &activations);
    check(&mut harness, |x| 0.001 * x, &[Unary::Softplus, Unary::Mish, Unary::Gelu]);
}

/// Both sides round the same quotient, so no value is off by a whole step of the grid, not even halves.
#[test]
fn values_rounded_to_a_grid() {
    let mut harness = Harness::new();
    for scale in [0.125, 0.1, 0.0078125, 3.7] {
        let grids = [
            Unary::FakeQuant { scale, least: -128, most: 127 },
            Unary::FakeQuant { scale, least: 0, most: 6 },
            Unary::FakeQuantEven { scale, least: -3, most: 9 },
            Unary::QuantizeEven { scale, least: -131, most: 124 },
            Unary::QuantizeByte { scale, zero: 131, least: 0 },
            Unary::QuantizeByte { scale, zero: -2, least: -128 },
            Unary::RequantizeByte { ratio: scale, zero: 77, least: 0 },
        ];
        // Multiples of a sixteenth are halves of the first grid.
        check(&mut harness, |x| (x * 16.0).round() / 16.0, &grids);
        check(&mut harness, |x| x * 0.37, &grids);
        check(&mut harness, |x| x * 500.0, &grids);
    }
}

/// Activation functions, evaluated by the epilogue's code.
#[test]
fn activations_in_epilogues() {
    let mut harness = Harness::new();
    for unary in [
        Unary::Elu { alpha: 1.3 },
        Unary::HardSigmoid { alpha: 0.3, beta: 0.4 },
        Unary::Clip { min: -0.5, max: 1.25 },
        Unary::Silu,
        Unary::Gelu,
        Unary::GeluTanh,
        Unary::Softplus,
        Unary::Mish,
    ] {
        let clip = Act::Unary(Unary::Clip { min: -1.0, max: 0.75 });
        for epilogue in [
            Epilogue::of(Act::Unary(unary)),
            Epilogue { first: clip, add: None, then: Act::Unary(unary) },
            Epilogue { first: Act::Unary(unary), add: None, then: clip },
        ] {
            harness.check(&one_node(Op::Unary(Unary::Neg), &[placed(DIMS)], DIMS.into(), epilogue));
        }
    }
}

/// The error function, logarithms, and trigonometric and hyperbolic functions with their inverses, near zero and far.
#[test]
fn elementary_functions() {
    let mut harness = Harness::new();
    let everywhere = [Unary::Erf, Unary::Sin, Unary::Cos, Unary::Atan, Unary::Sinh, Unary::Cosh, Unary::Asinh];
    check(&mut harness, |x| x, &everywhere);
    check(&mut harness, |x| 4.0 * x, &everywhere);
    check(&mut harness, |x| 0.01 * x, &everywhere);
    check(&mut harness, |x| 0.7 * x, &[Unary::Tan]);
    check(&mut harness, |x| 1e4 * x, &[Unary::Atan, Unary::Asinh]);
    check(&mut harness, |x| 0.499 * x, &[Unary::Asin, Unary::Acos, Unary::Atanh]);
    check(&mut harness, |x| 0.01 * x, &[Unary::Asin, Unary::Acos, Unary::Atanh]);
    check(&mut harness, |x| x.abs(), &[Unary::Log, Unary::Reciprocal]);
    check(&mut harness, |x| 100.0 * x.abs(), &[Unary::Log, Unary::Reciprocal]);
    check(&mut harness, |x| x.abs() + 1.0, &[Unary::Acosh]);
    check(&mut harness, |x| 1.0 + x.abs() / 100.0, &[Unary::Acosh]);
    check(&mut harness, |x| 1.0 + x.abs() * 3e4, &[Unary::Acosh]);
}

/// Halves of either sign, whole numbers, and zero.
#[test]
fn roundings() {
    let mut harness = Harness::new();
    let roundings = [Unary::Floor, Unary::Ceil, Unary::Round, Unary::Trunc, Unary::Sign, Unary::Not, Unary::NotZero];
    check(&mut harness, |x| x, &roundings);
    // Halves and whole numbers, zero among them.
    check(&mut harness, |x| (x * 4.0).round() / 2.0 - 1.0, &roundings);
}

/// `ToHalf`, `IsInf` and `IsNan`, on values beyond 16 bits.
#[test]
fn halves_infinities_and_no_numbers() {
    let mut harness = Harness::new();
    check(&mut harness, |x| x, &[Unary::ToHalf]);
    check(&mut harness, |x| x * 30_000.0, &[Unary::ToHalf]);
    check(&mut harness, |x| x * 1e-6, &[Unary::ToHalf]);
    let unusual = |x: f32| match (x * 4096.0) as i32 % 4 {
        0 => x,
        1 => f32::INFINITY,
        2 => f32::NAN,
        3 => f32::NEG_INFINITY,
        _ => 0.0,
    };
    let kinds = [[false, false], [true, false], [false, true], [true, true]]
        .map(|[negative, positive]| Unary::IsInf { negative, positive });
    check(&mut harness, unusual, &[Unary::IsNan, Unary::NotZero]);
    check(&mut harness, unusual, &kinds);
}

fn pairs(harness: &mut Harness, inputs: fn(f32) -> f32, binaries: &[Binary]) {
    harness.inputs(inputs);
    for &binary in binaries {
        case(harness, Op::Binary(binary), &[placed(DIMS), placed(DIMS)], DIMS);
        case(harness, Op::Binary(binary), &[placed(DIMS), constant([1, 1, 1, 7])], DIMS);
        case(harness, Op::Binary(binary), &[constant([1, 3, 1, 1]), placed(DIMS)], DIMS);
    }
}

/// Truth values are exactly 0 and 1, and elements that are not selected give zero whatever their value.
#[test]
fn comparisons_logic_and_choices() {
    let mut harness = Harness::new();
    let all = [&TRUTHS[..], &[Binary::ZeroUnless, Binary::ZeroIf, Binary::SquaredDifference]].concat();
    pairs(&mut harness, |x| x.round(), &all);
    pairs(&mut harness, |x| x.max(0.0).floor(), &all);
}

/// Floor, truncation and remainder by the sign of either operand.
#[test]
fn quotients_and_rests() {
    let mut harness = Harness::new();
    let all = [Binary::Mod, Binary::Fmod, Binary::FloorDiv, Binary::TruncDiv];
    // Whole numbers, never zero: a device's division may round their quotients wrongly.
    harness.inputs(|x| (x * 40.0).trunc());
    for binary in all {
        case(&mut harness, Op::Binary(binary), &[placed(DIMS), placed(DIMS)], DIMS);
    }
    harness.inputs(|x| (x * 4096.0).trunc() * 3.0);
    for binary in all {
        case(&mut harness, Op::Binary(binary), &[placed(DIMS), placed([1, 1, 1, 7])], DIMS);
    }
}

/// Negative bases, powers of zero, and fractions.
#[test]
fn powers() {
    let mut harness = Harness::new();
    // Negative numbers with whole exponents, and zero to the power of zero.
    harness.inputs(|x| x.round());
    let out = [1, 3, 4, 6];
    case(&mut harness, Op::Binary(Binary::Pow), &[placed(out), whole(&[0.0, 1.0, 2.0, 3.0, 15.0, 4.0])], out);
    harness.inputs(|x| x.abs());
    case(&mut harness, Op::Binary(Binary::Pow), &[placed(out), placed(out)], out);
    case(&mut harness, Op::Binary(Binary::Pow), &[placed(out), constant([1, 1, 1, 6])], out);
    harness.inputs(|x| x.signum() * x.abs().clamp(0.75, 1.5));
    case(&mut harness, Op::Binary(Binary::Pow), &[placed(out), whole(&[-1.0, -2.0, -3.0, 18.0, -17.0, 2.0])], out);
}

fn whole(values: &[f32]) -> crate::support::graphs::Source {
    crate::support::graphs::Source::Constant([1, 1, 1, values.len()].into(), values.to_vec())
}
