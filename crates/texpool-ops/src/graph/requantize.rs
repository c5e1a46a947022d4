//! Requantisation: from the 32-bit sum of an 8-bit layer to the integers of its result.
//!
//! Quantised layers add up products of integers. A runtime then multiplies each sum by the ratio of the scales and
//! rounds it to the integers of the result. The ratio differs per channel, and each runtime rounds in its own way. Both
//! ways are reproduced here bit by bit, so results equal those of the runtimes.

use super::{Constant, TensorId};

/// The factor `significand * 2^(exponent - 31)`, by which TensorFlow Lite's integer kernels multiply.
///
/// ```
/// use texpool::graph::FixedPoint;
///
/// let half = FixedPoint::new(0.5);
/// assert_eq!((half.significand, half.exponent), (1 << 30, 0));
/// assert_eq!([-3, 3].map(|x| half.times(x)), [-1, 2]); // halves round up
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedPoint {
    /// 31 bits, of which the highest is set unless the factor is zero.
    pub significand: i32,
    /// Power of two, from -31 to 30.
    pub exponent: i32,
}

impl FixedPoint {
    /// Returns the nearest factor to a real that is not negative. Numbers below 2^-32 become zero, and numbers from
    /// 2^30 on the largest factor, as in TensorFlow Lite's `QuantizeMultiplier`.
    pub fn new(real: f64) -> Self {
        if real.is_nan() || real <= 0.0 {
            return Self { significand: 0, exponent: 0 };
        }
        let mut exponent = real.log2().floor() as i32 + 1;
        let mut significand = (real * f64::exp2(f64::from(31 - exponent))).round() as i64;
        // `log2` may be off by one next to a power of two, and rounding may reach the next power.
        while significand >= 1 << 31 {
            exponent += 1;
            significand = (real * f64::exp2(f64::from(31 - exponent))).round() as i64;
        }
        match exponent {
            ..=-32 => Self { significand: 0, exponent: 0 },
            31.. => Self { significand: i32::MAX, exponent: 30 },
            _ => Self { significand: i32::try_from(significand).unwrap_or(i32::MAX), exponent },
        }
    }

    /// Multiplies an integer and rounds twice, as TensorFlow Lite's `MultiplyByQuantizedMultiplier` does: first to 31
    /// bits of fraction, with halves rounded up, then to a whole number, with halves rounded away from zero.
    pub fn times(self, x: i32) -> i32 {
        let product = i64::from(x.wrapping_shl(self.exponent.max(0).unsigned_abs())) * i64::from(self.significand);
        let nudge = if product >= 0 { 1 << 30 } else { 1 - (1 << 30) };
        let high = ((product + nudge) / (1 << 31)) as i32;
        let right = (-self.exponent).max(0);
        let mask = ((1_i64 << right) - 1) as i32;
        let threshold = (mask >> 1) + i32::from(high < 0);
        (high >> right) + i32::from((high & mask) > threshold)
    }
}

/// Arithmetic of the runtime for which a model was quantised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Requantization {
    /// Multiplication by a [`FixedPoint`] factor, as in TensorFlow Lite's reference kernels.
    Fixed,
    /// Multiplication in 32-bit floats, then rounding to the nearest integer with halves to even, as in ONNX Runtime.
    Float,
}

/// Requantisation of sums as an activation: `min(max(round(ratio[c] * (sum + addend[c])), least), most)`.
///
/// Sums are whole numbers. They are exact if no partial sum exceeds 2^24, which 32-bit floats hold. All integers are
/// counted from the zero point of their tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requantize {
    /// A constant `[ROWS, C]` made by [`fixed`](Self::fixed) or [`float`](Self::float): addends and ratios of each of
    /// the C channels of the result.
    pub factors: TensorId,
    /// Rounding.
    pub arithmetic: Requantization,
    /// Smallest integer of the result, at least -2048.
    pub least: i16,
    /// Largest integer of the result, at most 2047.
    pub most: i16,
}

impl Requantize {
    /// Rows of the constant: two digits of the addend in steps of [`ADDEND_STEP`](Self::ADDEND_STEP), three digits of 11
    /// bits of the significand or of a float's bits, and the exponent. All of them are exact in 16-bit floats.
    pub const ROWS: usize = 6;
    /// Unit of the addends, and base of their digits. Layers add the rest, up to half a step, as their bias.
    pub const ADDEND_STEP: i32 = 2048;
    /// Limits of `least` and `most`.
    pub(crate) const LIMITS: [i16; 2] = [-2048, 2047];

    /// Splits a bias into an addend and a rest that 16-bit floats hold exactly. The addend of the largest biases wraps, as
    /// adding it does.
    pub fn split_bias(bias: i32) -> [i32; 2] {
        let rest = centred(bias);
        [bias.wrapping_sub(rest), rest]
    }

    /// Returns the constant for addends from [`split_bias`](Self::split_bias) and factors, one per channel.
    pub fn fixed(channels: &[(i32, FixedPoint)]) -> Constant {
        rows(channels.iter().map(|&(addend, by)| (addend, by.significand.cast_unsigned(), by.exponent)))
    }

    /// Returns the constant for addends and ratios in floats, one per channel.
    pub fn float(channels: &[(i32, f32)]) -> Constant {
        rows(channels.iter().map(|&(addend, ratio)| (addend, ratio.to_bits(), 0)))
    }

    /// Returns the integer for the sum of a channel with this column of the constant.
    pub(crate) fn of(self, sum: f32, column: [f32; Self::ROWS]) -> f32 {
        let [addend, more, low, mid, high, exponent] = column.map(|value| value as i32);
        let addend = (more * Self::ADDEND_STEP + addend).wrapping_mul(Self::ADDEND_STEP);
        let sum = (sum as i32).wrapping_add(addend);
        let bits = low | mid << 11 | high << 22;
        let rounded = match self.arithmetic {
            Requantization::Fixed => FixedPoint { significand: bits, exponent }.times(sum) as f32,
            Requantization::Float => (sum as f32 * f32::from_bits(bits.cast_unsigned())).round_ties_even(),
        };
        rounded.max(f32::from(self.least)).min(f32::from(self.most))
    }
}

/// Returns the difference from the nearest multiple of a step of the addends.
const fn centred(value: i32) -> i32 {
    let half = Requantize::ADDEND_STEP / 2;
    value.wrapping_add(half).rem_euclid(Requantize::ADDEND_STEP) - half
}

/// Returns the rows of the constant for addends, 32 bits, and exponents.
fn rows(channels: impl ExactSizeIterator<Item = (i32, u32, i32)>) -> Constant {
    let count = channels.len();
    let mut values = vec![0.0; Requantize::ROWS * count];
    for (c, (addend, bits, exponent)) in channels.enumerate() {
        let digits = [bits & 2047, bits >> 11 & 2047, bits >> 22].map(|digit| digit as f32);
        let [low, mid, high] = digits;
        let steps = addend / Requantize::ADDEND_STEP;
        let first = centred(steps);
        let more = (steps - first) / Requantize::ADDEND_STEP;
        let column = [first as f32, more as f32, low, mid, high, exponent as f32];
        for (row, value) in column.into_iter().enumerate() {
            values[row * count + c] = value;
        }
    }
    Constant::from_f32(&values)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds twice in 128 bits, written from the definition.
    fn twice(x: i32, by: FixedPoint) -> i32 {
        let exact = i128::from(x) * (1 << by.exponent.max(0)) * i128::from(by.significand);
        // Halves towards positive infinity.
        let first = (exact + (1 << 30)).div_euclid(1 << 31);
        let step = 1_i128 << (-by.exponent).max(0);
        let magnitude = (first.abs() * 2 + step) / (2 * step);
        i32::try_from(if first < 0 { -magnitude } else { magnitude }).unwrap()
    }

    #[test]
    fn products_round_twice() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state
        };
        for _ in 0..100_000 {
            let by = FixedPoint::new(f64::from(next()) / f64::from(1 << 30) / f64::from(1 << (next() >> 27)));
            let x = next().cast_signed() >> 8;
            assert_eq!(by.times(x), twice(x, by), "{x} by {by:?}");
        }
        for x in -9..=9 {
            let by = FixedPoint::new(0.25);
            assert_eq!(by.times(x), twice(x, by));
        }
    }

    #[test]
    fn factors_are_normal() {
        assert_eq!(FixedPoint::new(1.0), FixedPoint { significand: 1 << 30, exponent: 1 });
        assert_eq!(FixedPoint::new(0.0), FixedPoint { significand: 0, exponent: 0 });
        assert_eq!(FixedPoint::new(1e-12), FixedPoint { significand: 0, exponent: 0 });
        assert_eq!(FixedPoint::new(1e12).exponent, 30);
        // Rounding reaches the next power of two.
        assert_eq!(FixedPoint::new(1.0 - 1e-12), FixedPoint::new(1.0));
    }

    #[test]
    fn columns_give_back_what_they_hold() {
        for bias in [i32::MIN, -4_000_000, -1025, -1024, -1, 0, 1, 1023, 1024, 3_999_999, 2_147_268_950, i32::MAX - 5] {
            let [addend, rest] = Requantize::split_bias(bias);
            assert_eq!((addend.wrapping_add(rest), addend % 2048), (bias, 0));
            assert!(rest.abs() <= 1024);
            let by = FixedPoint::new(0.001_234_567);
            let constant = Requantize::fixed(&[(addend, by)]);
            let column: [f32; Requantize::ROWS] = constant.to_f32().as_ref().try_into().unwrap();
            assert!(column.iter().all(|&value| half::f16::from_f32(value).to_f32() == value), "{column:?}");
            let requantize =
                Requantize { factors: TensorId::new(0), arithmetic: Requantization::Fixed, least: -128, most: 127 };
            let expected = by.times(bias + 5).clamp(-128, 127);
            assert_eq!(requantize.of((rest + 5) as f32, column), expected as f32);
        }
    }
}
