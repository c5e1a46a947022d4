//! Conversion between elements and the real numbers that they stand for.

use texpool_ops::graph::Quantization;

/// A value of an element type, with conversions to and from the 32-bit floats that kernels compute with.
pub(super) trait Number: Copy {
    /// Returns the nearest float; booleans are one and zero.
    fn to_f32(self) -> f32;
    /// Returns the real number that a quantised integer stands for, or the value itself for other types.
    fn dequantized(self, quantization: Quantization) -> f32;
    /// Returns the number if it is an integer of larger magnitude than `most`.
    fn beyond(self, most: u32) -> Option<i128>;
    /// Returns the nearest value. Integers round to even and saturate. NaN must be ruled out before for integers.
    fn from_f32(value: f32) -> Self;
    /// Returns the integer that stands for the nearest value, saturated, if the type is an integer.
    fn quantized(value: f32, quantization: Quantization) -> Self;
}

macro_rules! integers {
    ($($rust:ty),* $(,)?) => {$(
        impl Number for $rust {
            fn to_f32(self) -> f32 {
                self as f32
            }

            fn dequantized(self, quantization: Quantization) -> f32 {
                // Types beyond `i64` are never quantised (`graph::check`).
                quantization.dequantize(self as i64)
            }

            fn beyond(self, most: u32) -> Option<i128> {
                let (number, most) = (i128::from(self), i128::from(most));
                (number > most || number < -most).then_some(number)
            }

            // A cast from a float saturates.
            fn from_f32(value: f32) -> Self {
                value.round_ties_even() as Self
            }

            fn quantized(value: f32, quantization: Quantization) -> Self {
                quantization.quantize(value) as Self
            }
        }
    )*};
}

integers!(i8, u8, i16, u16, i32, u32, i64, u64);

macro_rules! not_quantised {
    ($($rust:ty: $element:ident => $to:expr, $float:ident => $from:expr;)*) => {$(
        impl Number for $rust {
            fn to_f32(self) -> f32 {
                let $element = self;
                $to
            }

            fn dequantized(self, _: Quantization) -> f32 {
                self.to_f32()
            }

            fn beyond(self, _: u32) -> Option<i128> {
                None
            }

            fn from_f32($float: f32) -> Self {
                $from
            }

            fn quantized(value: f32, _: Quantization) -> Self {
                Number::from_f32(value)
            }
        }
    )*};
}

not_quantised! {
    f32: element => element, float => float;
    half::f16: element => half::f16::to_f32(element), float => half::f16::from_f32(float);
    bool: element => f32::from(u8::from(element)), float => float != 0.0;
}
