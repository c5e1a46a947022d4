//! Parts that functions of one and of two values are evaluated from.

use std::f64::consts::FRAC_2_SQRT_PI;

/// The greater of two values, or NaN if either is NaN. If both compare equal (as the two zeros do), the second.
pub fn greater(a: f32, b: f32) -> f32 {
    // `f32::max` would return the other value if one is NaN.
    if a > b || a.is_nan() { a } else { b }
}

/// The lesser of two values, with the same rules.
pub fn lesser(a: f32, b: f32) -> f32 {
    if a < b || a.is_nan() { a } else { b }
}

/// `min(max(x, least), most)`; NaN stays NaN.
pub(crate) fn bounded(x: f32, least: f32, most: f32) -> f32 {
    // Not `f32::clamp`, which panics if a file states the bounds in the wrong order.
    let raised = if x < least { least } else { x };
    if raised > most { most } else { raised }
}

/// `min(max(round(x / scale), least), most)`, with halves rounded to the even one.
pub(super) fn quantized_even(x: f32, scale: f32, least: i16, most: i16) -> f32 {
    bounded((x / scale).round_ties_even(), f32::from(least), f32::from(most))
}

/// `min(max(round(steps + zero), least), least + 255) - zero`, with halves rounded to the even one.
pub(super) fn byte_of(steps: f32, zero: i16, least: i16) -> f32 {
    let (zero, least) = (f32::from(zero), f32::from(least));
    bounded((steps + zero).round_ties_even(), least, least + 255.0) - zero
}

/// Evaluates a function in double precision.
pub(super) fn in_double(x: f32, function: impl Fn(f64) -> f64) -> f32 {
    function(f64::from(x)) as f32
}

/// Returns `a - b * floor(a / b)`, which has the sign of `b`; Rust's remainder has the sign of `a`.
pub(super) fn floor_mod(a: f32, b: f32) -> f32 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
}

/// Returns one if true, else zero.
pub(super) fn truth(yes: bool) -> f32 {
    f32::from(u8::from(yes))
}

/// Returns `log(1 + exp(x))`.
pub(super) fn softplus(x: f64) -> f64 {
    // This form cannot overflow.
    (if x < 0.0 { 0.0 } else { x }) + (-x.abs()).exp().ln_1p()
}

/// The error function by its Maclaurin series. In double precision its error is below 1e-9 wherever single precision
/// can distinguish the result from one.
pub(super) fn erf(x: f64) -> f64 {
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
