//! What the quantised integers of a whole tensor stand for.

/// A scale and a zero point for all elements: an integer `q` stands for `(q - zero_point) * scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantization {
    /// From one integer's value to the next one's.
    pub scale: f32,
    /// The integer that stands for zero.
    pub zero_point: i32,
}

impl Quantization {
    /// The value that an integer stands for. Worked out in 64 bits, so that what is rounded is the value alone.
    pub fn dequantize(self, q: i64) -> f32 {
        // As floats before they are subtracted, because the difference of the outermost integers is none of 64 bits.
        (f64::from(self.scale) * (q as f64 - f64::from(self.zero_point))) as f32
    }

    /// The whole number that stands for the value nearest to `value`, halves away from zero as TensorFlow Lite rounds
    /// them. It may lie beyond what a type holds; NaN stays NaN.
    pub fn quantize(self, value: f32) -> f64 {
        (f64::from(value) / f64::from(self.scale)).round() + f64::from(self.zero_point)
    }
}
