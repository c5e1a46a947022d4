//! Evaluates the functions of one and of two values. Used by the CPU references, and by importers when operands are
//! constant. Uses double precision where single precision would lose digits.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

use super::{Binary, Unary};

/// The greater of two values, or NaN if either is NaN. If both compare equal (as the two zeros do), the second.
pub(crate) fn greater(a: f32, b: f32) -> f32 {
    // `f32::max` would return the other value if one is NaN.
    if a > b || a.is_nan() { a } else { b }
}

/// The lesser of two values, with the same rules.
pub(crate) fn lesser(a: f32, b: f32) -> f32 {
    if a < b || a.is_nan() { a } else { b }
}

/// `min(max(x, least), most)`; NaN stays NaN.
fn bounded(x: f32, least: f32, most: f32) -> f32 {
    // Not `f32::clamp`, which panics if a file states the bounds in the wrong order.
    let raised = if x < least { least } else { x };
    if raised > most { most } else { raised }
}

/// Evaluates a function of one value.
pub(crate) fn unary(function: Unary, x: f32) -> f32 {
    let in_double = |wide: fn(f64) -> f64| wide(f64::from(x)) as f32;
    match function {
        Unary::Relu => bounded(x, 0.0, f32::INFINITY),
        Unary::Relu6 => bounded(x, 0.0, 6.0),
        Unary::ReluN1To1 => bounded(x, -1.0, 1.0),
        Unary::LeakyRelu { alpha } => {
            if x < 0.0 {
                alpha * x
            } else {
                x
            }
        }
        Unary::Elu { alpha } => {
            if x < 0.0 {
                alpha * (x.exp() - 1.0)
            } else {
                x
            }
        }
        Unary::Selu { alpha, gamma } => gamma * if x <= 0.0 { alpha * x.exp_m1() } else { x },
        // `min` drops NaN, but the first summand keeps it.
        Unary::Celu { alpha } => bounded(x, 0.0, f32::INFINITY) + (alpha * (x / alpha).exp_m1()).min(0.0),
        Unary::ThresholdedRelu { alpha } => {
            if x > alpha {
                x
            } else {
                0.0
            }
        }
        Unary::HardSigmoid { alpha, beta } => bounded(alpha * x + beta, 0.0, 1.0),
        Unary::Clip { min, max } => bounded(x, min, max),
        Unary::HardSwish => x * bounded(x + 3.0, 0.0, 6.0) / 6.0,
        Unary::Logistic => 1.0 / (1.0 + (-x).exp()),
        Unary::Silu => in_double(|x| x / (1.0 + (-x).exp())),
        Unary::Gelu => in_double(|x| 0.5 * x * (1.0 + erf(x * FRAC_1_SQRT_2))),
        Unary::GeluTanh => in_double(|x| {
            let inner = (2.0 / PI).sqrt() * (x + 0.044715 * x.powi(3));
            0.5 * x * (1.0 + inner.tanh())
        }),
        Unary::Softplus => in_double(softplus),
        Unary::Softsign => x / (1.0 + x.abs()),
        Unary::Mish => in_double(|x| x * softplus(x).tanh()),
        Unary::Shrink { bias, lambda } => match x {
            x if x < -lambda => x + bias,
            x if x > lambda => x - bias,
            _ => 0.0,
        },
        Unary::Exp => x.exp(),
        Unary::Log => x.ln(),
        Unary::Sqrt => x.sqrt(),
        Unary::Rsqrt => x.sqrt().recip(),
        Unary::Square => x * x,
        Unary::Reciprocal => x.recip(),
        Unary::Abs => x.abs(),
        Unary::Neg => -x,
        Unary::Sign if x.is_nan() => x,
        Unary::Sign => f32::from(i8::from(x > 0.0) - i8::from(x < 0.0)),
        Unary::Erf => in_double(erf),
        Unary::Sin => in_double(f64::sin),
        Unary::Cos => in_double(f64::cos),
        Unary::Tan => in_double(f64::tan),
        Unary::Asin => in_double(f64::asin),
        Unary::Acos => in_double(f64::acos),
        Unary::Atan => in_double(f64::atan),
        Unary::Sinh => in_double(f64::sinh),
        Unary::Cosh => in_double(f64::cosh),
        Unary::Tanh => x.tanh(),
        Unary::Asinh => in_double(f64::asinh),
        Unary::Acosh => in_double(f64::acosh),
        Unary::Atanh => in_double(f64::atanh),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round => x.round_ties_even(),
        Unary::Trunc => x.trunc(),
        Unary::ToHalf => half::f16::from_f32(x).to_f32(),
        Unary::FakeQuant { scale, least, most } => {
            bounded((x / scale).round(), f32::from(least), f32::from(most)) * scale
        }
        Unary::Not => truth(x == 0.0),
        Unary::NotZero => truth(x != 0.0),
        Unary::IsNan => truth(x.is_nan()),
        Unary::IsInf { negative, positive } => {
            truth(negative && x == f32::NEG_INFINITY || positive && x == f32::INFINITY)
        }
    }
}

/// Evaluates a function of two values.
pub(crate) fn binary(function: Binary, a: f32, b: f32) -> f32 {
    let [yes_a, yes_b] = [a != 0.0, b != 0.0];
    match function {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Maximum => greater(a, b),
        Binary::Minimum => lesser(a, b),
        Binary::Pow => f64::from(a).powf(f64::from(b)) as f32,
        Binary::Mod => {
            // Rust's remainder has the sign of `a`; this one has the sign of `b`.
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        }
        Binary::Fmod => a % b,
        // In single precision a quotient just below a whole number may be rounded up to it.
        Binary::FloorDiv => (f64::from(a) / f64::from(b)).floor() as f32,
        Binary::TruncDiv => (f64::from(a) / f64::from(b)).trunc() as f32,
        Binary::SquaredDifference => (a - b) * (a - b),
        Binary::Equal => truth(a == b),
        Binary::NotEqual => truth(a != b),
        Binary::Less => truth(a < b),
        Binary::LessEqual => truth(a <= b),
        Binary::Greater => truth(a > b),
        Binary::GreaterEqual => truth(a >= b),
        Binary::And => truth(yes_a && yes_b),
        Binary::Or => truth(yes_a || yes_b),
        Binary::Xor => truth(yes_a != yes_b),
        Binary::ZeroUnless if yes_a => b,
        Binary::ZeroIf if !yes_a => b,
        Binary::ZeroUnless | Binary::ZeroIf => 0.0,
    }
}

fn truth(yes: bool) -> f32 {
    f32::from(u8::from(yes))
}

fn softplus(x: f64) -> f64 {
    // This form cannot overflow.
    (if x < 0.0 { 0.0 } else { x }) + (-x.abs()).exp().ln_1p()
}

/// The error function by its Maclaurin series. In double precision its error is below 1e-9 wherever single precision
/// can distinguish the result from one.
fn erf(x: f64) -> f64 {
    // `signum` of NaN is NaN. From 4.2 on the result rounds to one in single precision.
    if x.is_nan() || x.abs() > 4.2 {
        return x.signum();
    }
    let (mut sum, mut power) = (x, x);
    for n in 1..120 {
        power *= -x * x / f64::from(n);
        sum += power / f64::from(2 * n + 1);
    }
    FRAC_2_SQRT_PI * sum
}
