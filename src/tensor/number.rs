//! Elements as the real numbers that they are or stand for, and back.

use crate::graph::Quantization;

/// An element type's values and the 32-bit floats that are computed with.
pub(super) trait Number: Copy {
    /// The nearest float; truth values are one and zero.
    fn to_f32(self) -> f32;
    /// What it stands for, if it is a quantised integer, else itself.
    fn dequantized(self, quantization: Quantization) -> f32;
    /// The number, if it is an integer of a greater magnitude than `most`.
    fn beyond(self, most: u32) -> Option<i128>;
    /// The nearest value, of integers the even one of two and none beyond the type. What is no number is no integer, so
    /// that must be asked before.
    fn from_f32(value: f32) -> Self;
    /// The integer that stands for the nearest value, if integers it has, none beyond the type.
    fn quantized(value: f32, quantization: Quantization) -> Self;
}

macro_rules! integers {
    ($($rust:ty),* $(,)?) => {$(
        impl Number for $rust {
            fn to_f32(self) -> f32 {
                self as f32
            }

            fn dequantized(self, quantization: Quantization) -> f32 {
                // Those that 64 bits with a sign do not hold are not quantised (`graph::check`).
                quantization.dequantize(self as i64)
            }

            fn beyond(self, most: u32) -> Option<i128> {
                let (number, most) = (i128::from(self), i128::from(most));
                (number > most || number < -most).then_some(number)
            }

            // A cast from a float ends at the type's bounds.
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
