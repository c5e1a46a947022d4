//! Sums of two quantised tensors, `a, b`, in the arithmetic of a runtime; each pair of extents is equal, or one of them
//! is one.
//!
//! A runtime converts the integers of both operands to a common scale, adds them, and rounds to the integers of the
//! result. Each runtime does so in its own way. These ways are reproduced here bit by bit, so results equal those of
//! the runtimes.

mod kernel;
mod reference;

use std::ops::{Range, RangeInclusive};

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{broadcast, pair},
};
use crate::graph::{FixedPoint, Shape};

/// Zero bits that [`QuantizedSum::Fixed`] puts behind the integers of the operands.
pub(crate) const LEFT_SHIFT: u32 = 20;
/// Limit on the magnitude of the factors of [`QuantizedSum::Shift`].
const MAX_FACTOR: u32 = 1 << 21;
/// Magnitudes of a scale by the result's for which XNNPACK has a [`QuantizedSum::Shift`].
const SHIFT_RATIOS: Range<f32> = 1.0 / 1024.0..256.0;
/// Ratios of [`QuantizedSum::Float`]. The kernel computes with 64 bits, which hold all sums of such products.
const FLOAT_RATIOS: Range<f32> = 1.0 / 16384.0..256.0;
/// Zero points of 8-bit tensors, signed or unsigned.
const ZEROS: RangeInclusive<i16> = -128..=255;

/// Sum of two tensors of 8-bit integers as a runtime computes it: `min(max(sum, least), most)`.
///
/// The integers of the operands and of the result are counted from the zero point of their tensor.
///
/// ```
/// use texpool::graph::QuantizedAdd;
///
/// // The scales of the operands and of the result, and the limits of the result.
/// let (scales, scale, limits) = ([0.5, 0.25], 0.5, [-128, 127]);
/// let tflite = QuantizedAdd::fixed(scales, scale, limits).unwrap();
/// let xnnpack = QuantizedAdd::shift(scales, scale, limits).unwrap();
/// let onnx_runtime = QuantizedAdd::float(scales, scale, [0, 0], 0, limits).unwrap();
/// // Runtimes round 10.5 and -10.5 differently.
/// let both = |add: QuantizedAdd| [add.of(9.0, 3.0), add.of(-9.0, -3.0)];
/// assert_eq!([tflite, xnnpack, onnx_runtime].map(both), [[11.0, -11.0], [11.0, -10.0], [10.0, -10.0]]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantizedAdd {
    /// Arithmetic, with the ratios of the scales.
    pub arithmetic: QuantizedSum,
    /// Smallest integer of the result.
    pub least: i16,
    /// Largest integer of the result.
    pub most: i16,
}

/// Arithmetic of the runtime for which a model was quantised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QuantizedSum {
    /// `result * (factors[0] * (a << 20) + factors[1] * (b << 20))`, in which each product is rounded. TensorFlow
    /// Lite's reference kernels compute so.
    Fixed {
        /// Factors of the operands, below one.
        factors: [FixedPoint; 2],
        /// Factor of the sum, below one.
        result: FixedPoint,
    },
    /// `(factors[0] * a + factors[1] * b) >> shift`, rounded with halves up. XNNPACK computes so.
    Shift {
        /// Factors of the operands, of a magnitude of at most 2^21.
        factors: [i32; 2],
        /// Number of bits to drop, from 1 to 30.
        shift: u32,
    },
    /// `ratios[0] * (a + zeros[0]) + (ratios[1] * (b + zeros[1]) + rest) - zero`, in 32-bit floats with fused
    /// multiplications, then rounded with halves to even. `rest` is the sum of everything that does not depend on the
    /// operands, rounded as well. ONNX Runtime computes so on x86 with AVX2.
    Float {
        /// Scales of the operands divided by the scale of the result, from 2^-14 and below 2^8.
        ratios: [f32; 2],
        /// Zero points of the operands, from -128 to 255.
        zeros: [i16; 2],
        /// Zero point of the result, from -128 to 255.
        zero: i16,
    },
}

impl QuantizedAdd {
    /// Returns the sum that TensorFlow Lite's reference kernels compute for operands and a result of these scales.
    /// `None` if they refuse the scales.
    pub fn fixed(scales: [f32; 2], scale: f32, limits: [i16; 2]) -> Option<Self> {
        if !scales.iter().chain([&scale]).all(|scale| scale.is_finite() && *scale > 0.0) {
            return None;
        }
        // As in the runtime, multiplications by powers of two are in 32 bits and divisions in 64.
        let twice = f64::from(2.0 * scales[0].max(scales[1]));
        let factors = scales.map(|scale| FixedPoint::new(f64::from(scale) / twice));
        let result = FixedPoint::new(twice / f64::from((1 << LEFT_SHIFT) as f32 * scale));
        Self::new(QuantizedSum::Fixed { factors, result }, limits)
    }

    /// Returns the sum that XNNPACK computes for operands and a result of these scales. An operand of a negative scale
    /// is subtracted. `None` if XNNPACK refuses the scales.
    pub fn shift(scales: [f32; 2], scale: f32, limits: [i16; 2]) -> Option<Self> {
        let ratios = scales.map(|of| of / scale);
        if !ratios.iter().all(|ratio| SHIFT_RATIOS.contains(&ratio.abs())) {
            return None;
        }
        let largest = ratios[0].abs().max(ratios[1].abs());
        // The larger factor gets 21 bits.
        let shift = (20 + 127 - (largest.to_bits() >> 23).cast_signed()).cast_unsigned();
        let factors = ratios.map(|ratio| (ratio * (1_u32 << shift) as f32).round_ties_even() as i32);
        Self::new(QuantizedSum::Shift { factors, shift }, limits)
    }

    /// Returns the sum that ONNX Runtime computes on x86 for operands and a result of these scales and zero points.
    /// `None` if the kernel does not support the ratios of the scales, see [`QuantizedSum::Float`].
    pub fn float(scales: [f32; 2], scale: f32, zeros: [i16; 2], zero: i16, limits: [i16; 2]) -> Option<Self> {
        Self::new(QuantizedSum::Float { ratios: scales.map(|of| of / scale), zeros, zero }, limits)
    }

    fn new(arithmetic: QuantizedSum, [least, most]: [i16; 2]) -> Option<Self> {
        let add = Self { arithmetic, least, most };
        add.check().is_ok().then_some(add)
    }

    /// Checks that kernels can compute the sum.
    fn check(self) -> Result<(), ShapeError> {
        let (what, valid) = match self.arithmetic {
            QuantizedSum::Fixed { factors: [a, b], result } => {
                let below_one = |by: FixedPoint| by.significand >= 0 && (-31..=0).contains(&by.exponent);
                ("a factor of the sum", [a, b, result].into_iter().all(below_one))
            }
            QuantizedSum::Shift { factors, shift } => {
                let small = factors.iter().all(|factor| factor.unsigned_abs() <= MAX_FACTOR);
                ("a factor of the sum", small && (1..=30).contains(&shift))
            }
            QuantizedSum::Float { ratios, zeros: [a, b], zero } => {
                let zeros = [a, b, zero].iter().all(|zero| ZEROS.contains(zero));
                ("a ratio or zero point", ratios.iter().all(|ratio| FLOAT_RATIOS.contains(ratio)) && zeros)
            }
        };
        if !valid {
            Err(ShapeError::Range { what })
        } else if self.least > self.most {
            Err(ShapeError::Range { what: "the smallest integer of the sum" })
        } else {
            Ok(())
        }
    }

    /// Returns the integer for a pair of integers, which are whole numbers that 8 bits can hold with the zero points.
    pub fn of(self, a: f32, b: f32) -> f32 {
        let integers = [a as i32, b as i32];
        let product = |by: FixedPoint, x: i32| by.times(x.wrapping_shl(LEFT_SHIFT));
        let sum = match self.arithmetic {
            QuantizedSum::Fixed { factors: [a, b], result } => {
                result.times(product(a, integers[0]).wrapping_add(product(b, integers[1]))) as f32
            }
            QuantizedSum::Shift { factors, shift } => {
                let half = 1_i32.wrapping_shl(shift) >> 1;
                let products = [0, 1].map(|i| integers[i].wrapping_mul(factors[i]));
                half.wrapping_add(products[0]).wrapping_add(products[1]).wrapping_shr(shift) as f32
            }
            QuantizedSum::Float { ratios, zeros, zero } => {
                let [a, b] = [0, 1].map(|i| integers[i] as f32 + f32::from(zeros[i]));
                let sum = ratios[0].mul_add(a, ratios[1].mul_add(b, rest(ratios, zeros, zero)));
                sum.round_ties_even() - f32::from(zero)
            }
        };
        sum.max(f32::from(self.least)).min(f32::from(self.most))
    }
}

/// Returns the part of [`QuantizedSum::Float`] that does not depend on the operands, rounded as the compiler of ONNX
/// Runtime fuses its operations.
fn rest(ratios: [f32; 2], zeros: [i16; 2], zero: i16) -> f32 {
    let [a, b] = zeros.map(f32::from);
    f32::from(zero) - ratios[0].mul_add(a, ratios[1] * b)
}

impl OpSchema for QuantizedAdd {
    fn name(&self) -> &'static str {
        "QUANTIZED_ADD"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        self.check()?;
        let (a, b) = pair(inputs)?;
        broadcast(a, b)
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: [i16; 2] = [-32768, 32767];
    const BYTES: Range<i32> = -128..128;

    /// Scales whose sums are next to halves.
    const TENTHS: [f32; 2] = [0.1, 0.3];
    /// Scales of the operands for a result of scale one: halves occur, the larger is first or second, and significands
    /// are full.
    const SCALES: [[f32; 2]; 9] = [
        TENTHS,
        [1.0, 1.0],
        [0.5, 1.0],
        [1.5, 0.5],
        [0.25, 0.75],
        [0.034_123_4, 0.987_654_3],
        [1.234_567_8, 0.012_345_67],
        [7.123_456, 0.333_333_34],
        [0.007_812_5, 0.023_437_5],
    ];

    /// Fails for the first pair of bytes for which the sum is not the expected one.
    fn agrees(add: QuantizedAdd, expected: impl Fn(i32, i32) -> i64) {
        for a in BYTES {
            for b in BYTES {
                assert_eq!(add.of(a as f32, b as f32), expected(a, b) as f32, "{a} and {b}: {add:?}");
            }
        }
    }

    /// The quotient by `1 << bits`, with halves away from zero.
    fn away(x: i128, bits: u32) -> i128 {
        let half = (1 << bits) >> 1;
        if x < 0 { -((-x + half) >> bits) } else { (x + half) >> bits }
    }

    #[test]
    fn fixed_sums_round_each_product_twice() {
        // The exact product in units of 2^-31, rounded with halves up and then away from zero.
        let times = |x: i128, by: FixedPoint| {
            let high = (x * i128::from(by.significand) + (1 << 30)) >> 31;
            away(high, by.exponent.unsigned_abs())
        };
        for scales in SCALES {
            let add = QuantizedAdd::fixed(scales, 1.0, LIMITS).unwrap();
            let QuantizedSum::Fixed { factors, result } = add.arithmetic else { panic!("{add:?}") };
            let twice = 2.0 * f64::from(scales[0]).max(f64::from(scales[1]));
            for (factor, real) in [(factors[0], scales[0]), (factors[1], scales[1])] {
                let found = f64::from(factor.significand) * f64::from(factor.exponent - 31).exp2();
                assert!((found * twice / f64::from(real) - 1.0).abs() < 1e-9, "{scales:?}");
            }
            agrees(add, |a, b| {
                let raw = times(i128::from(a) << 20, factors[0]) + times(i128::from(b) << 20, factors[1]);
                i64::try_from(times(raw, result)).unwrap()
            });
        }
    }

    #[test]
    fn shifted_sums_round_halves_up() {
        for scales in SCALES {
            for sign in [1.0, -1.0] {
                let scales = [scales[0], scales[1] * sign];
                let add = QuantizedAdd::shift(scales, 1.0, LIMITS).unwrap();
                let QuantizedSum::Shift { factors, shift } = add.arithmetic else { panic!("{add:?}") };
                let largest = factors[0].abs().max(factors[1].abs());
                assert!((1 << 20..=1 << 21).contains(&largest), "{add:?}");
                let exact = scales.map(|scale| (f64::from(scale) * f64::from(1 << shift)).round_ties_even() as i64);
                agrees(add, |a, b| {
                    let sum = exact[0] * i64::from(a) + exact[1] * i64::from(b);
                    (2 * sum + (1 << shift)).div_euclid(2 << shift)
                });
            }
        }
    }

    /// A float as a whole number of 2^-60, exact for the floats here.
    fn units(x: f32) -> i128 {
        let bits = x.to_bits();
        let significand = i128::from(bits & 0x7f_ffff | 0x80_0000);
        let exponent = (bits >> 23 & 255).cast_signed() - 150 + 60;
        let magnitude = if x == 0.0 { 0 } else { significand << exponent };
        if x < 0.0 { -magnitude } else { magnitude }
    }

    /// The nearest number of 24 bits, with halves to even.
    fn nearest(x: i128) -> i128 {
        let bits = 128 - x.unsigned_abs().leading_zeros();
        let dropped = bits.saturating_sub(24);
        to_even(x, dropped) << dropped
    }

    /// The quotient by `1 << bits`, with halves to even.
    fn to_even(x: i128, bits: u32) -> i128 {
        let (quotient, rest, half) = (x >> bits, x & ((1 << bits) - 1), (1 << bits) >> 1);
        quotient + i128::from(bits > 0 && (rest > half || rest == half && quotient & 1 == 1))
    }

    #[test]
    fn float_sums_are_fused() {
        for scales in SCALES {
            for (zeros, zero) in [([0, 0], 0), ([127, 100], 33), ([-3, 128], -128)] {
                let add = QuantizedAdd::float(scales, 1.0, zeros, zero, LIMITS).unwrap();
                let [a_zero, b_zero, zero] = [zeros[0], zeros[1], zero].map(i128::from);
                let [a_ratio, b_ratio] = scales.map(units);
                let rest = nearest((zero << 60) - nearest(a_ratio * a_zero + nearest(b_ratio * b_zero)));
                agrees(add, |a, b| {
                    let inner = nearest(b_ratio * (i128::from(b) + b_zero) + rest);
                    let sum = nearest(a_ratio * (i128::from(a) + a_zero) + inner);
                    i64::try_from(to_even(sum, 60) - zero).unwrap()
                });
            }
        }
    }

    /// Guards the test above: for tenths, every other way to round gives other sums.
    #[test]
    fn tenths_tell_ways_to_round_apart() {
        let [a_ratio, b_ratio] = TENTHS;
        let add = QuantizedAdd::float(TENTHS, 1.0, [127, 100], 33, LIMITS).unwrap();
        let first = rest(TENTHS, [127, 100], 33);
        let products = |a: f32, b: f32| (a_ratio * a + (b_ratio * b + first)).round_ties_even() as i128;
        let [exact_a, exact_b, exact_first] = [a_ratio, b_ratio, first].map(units);
        let inner = |b: f32| exact_b * b as i128 + exact_first;
        let nothing = |a: f32, b: f32| to_even(exact_a * a as i128 + inner(b), 60);
        let outer = |a: f32, b: f32| to_even(nearest(exact_a * a as i128 + inner(b)), 60);
        let others: [&dyn Fn(f32, f32) -> i128; 3] = [&products, &nothing, &outer];
        for (way, other) in others.into_iter().enumerate() {
            let pairs = BYTES.flat_map(|a| BYTES.map(move |b| [a as f32, b as f32]));
            let differs = |&[a, b]: &[f32; 2]| add.of(a, b) as i128 + 33 != other(a + 127.0, b + 100.0);
            assert!(pairs.filter(differs).count() > 0, "{way}");
        }
    }

    #[test]
    fn results_are_bounded() {
        for add in [
            QuantizedAdd::fixed([1.0, 1.0], 1.0, [-5, 100]).unwrap(),
            QuantizedAdd::shift([1.0, 1.0], 1.0, [-5, 100]).unwrap(),
            QuantizedAdd::float([1.0, 1.0], 1.0, [3, 4], 5, [-5, 100]).unwrap(),
        ] {
            assert_eq!([add.of(-3.0, -3.0), add.of(90.0, 9.0), add.of(90.0, 11.0)], [-5.0, 99.0, 100.0]);
        }
    }

    #[test]
    fn scales_that_runtimes_refuse_give_nothing() {
        let fixed = |scales, scale| QuantizedAdd::fixed(scales, scale, LIMITS);
        // The factor of the result would be one.
        assert_eq!(fixed([1.0, 1.0], 1.0 / 524_288.0), None);
        assert!(fixed([1.0, 1.0], 1.0 / 524_287.0).is_some());
        assert_eq!([fixed([0.0, 1.0], 1.0), fixed([1.0, f32::NAN], 1.0), fixed([1.0, 1.0], f32::INFINITY)], [None; 3]);
        let shift = |scales| QuantizedAdd::shift(scales, 1.0, LIMITS);
        assert_eq!([shift([256.0, 1.0]), shift([1.0, 0.000_97]), shift([f32::NAN, 1.0])], [None; 3]);
        assert!(shift([255.9, 1.0 / 1024.0]).is_some());
        let float = |scales, zero| QuantizedAdd::float(scales, 1.0, [0, 0], zero, LIMITS);
        assert_eq!([float([256.0, 1.0], 0), float([1.0, 0.00006], 0), float([1.0, -1.0], 0)], [None; 3]);
        assert_eq!([float([1.0, 1.0], 256), float([1.0, 1.0], -129)], [None; 2]);
        assert_eq!(QuantizedAdd::shift([1.0, 1.0], 1.0, [1, 0]), None);
    }
}
