//! Quantisation with a single scale and zero point for a tensor.

/// A scale and a zero point for all elements: an integer `q` represents `(q - zero_point) * scale`.
///
/// ```
/// use texpool::graph::Quantization;
///
/// let bytes = Quantization { scale: 0.5, zero_point: 10 };
/// assert_eq!(bytes.dequantize(14), 2.0);
/// assert_eq!(bytes.quantize(2.3), 15.0); // 4.6 steps above zero
/// assert_eq!(bytes.quantize(1000.0), 2010.0); // not limited to the integers of a type
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantization {
    /// Difference between the values of two consecutive integers.
    pub scale: f32,
    /// The integer that represents zero.
    pub zero_point: i32,
}

impl Quantization {
    /// Returns the value that an integer represents. Computed in 64 bits, so that it is rounded only once, at the
    /// end.
    pub fn dequantize(self, q: i64) -> f32 {
        // Converted to floats before the subtraction, because the difference of extreme integers overflows 64 bits.
        (f64::from(self.scale) * (q as f64 - f64::from(self.zero_point))) as f32
    }

    /// Returns the whole number whose value is nearest to `value`, with halves rounded away from zero as in
    /// TensorFlow Lite. It may exceed the range of the element type. NaN stays NaN.
    pub fn quantize(self, value: f32) -> f64 {
        (f64::from(value) / f64::from(self.scale)).round() + f64::from(self.zero_point)
    }
}
