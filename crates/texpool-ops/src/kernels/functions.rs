//! Codes of functions of one value in shaders: the functions of epilogues, and those of `unary.wgsl` alone.

use super::wgsl::shared_constants;
use crate::graph::{Requantize, Unary};

/// Generates the constants and the mapping from the table below. A row gives the name and the value of a code, its
/// function, and the function's two parameters in the shader, the second as bits. `clips` has functions that are a clip,
/// with its bounds. A function without a row does not compile.
macro_rules! unary_codes {
    (
        $(#[$held_about:meta])*
        $held_table:ident { $($held:ident = $held_code:literal
            $(=> $held_function:ident $({ $($held_field:ident),* })? $(($($held_param:expr),*))?)?,)* }

        $(#[$about:meta])*
        $table:ident { $($name:ident = $code:literal
            => $function:ident $({ $($field:ident),* })? $(($($param:expr),*))?,)* }

        clips { $($clip:ident ($least:expr, $most:expr),)* }
    ) => {
        shared_constants! { $(#[$held_about])* $held_table: $($held = $held_code,)* }
        shared_constants! { $(#[$about])* $table: $($name = $code,)* }

        /// Returns the code of a function and its two parameters, the second as bits.
        pub(crate) fn code(function: Unary) -> (u32, f32, u32) {
            match function {
                $($(Unary::$held_function $({ $($held_field),* })? => coded!($held $($(, $held_param)*)?),)?)*
                $(Unary::$function $({ $($field),* })? => coded!($name $($(, $param)*)?),)*
                $(Unary::$clip => clip($least, $most),)*
            }
        }
    };
}

/// Adds zeros for missing parameters.
macro_rules! coded {
    ($code:expr) => {
        ($code, 0.0, 0)
    };
    ($code:expr, $first:expr) => {
        ($code, $first, 0)
    };
    ($code:expr, $first:expr, $second:expr) => {
        ($code, $first, $second)
    };
}

unary_codes! {
    /// Functions that `activate` in `texel.wgsl` supports: short functions that follow convolutions in networks. All
    /// others are separate steps, so that the other shaders need not contain them.
    ACTIVATIONS {
        ACT_NONE = 0,
        ACT_LEAKY_RELU = 4 => LeakyRelu { alpha } (alpha),
        ACT_ELU = 5 => Elu { alpha } (alpha),
        ACT_HARD_SWISH = 6 => HardSwish,
        ACT_LOGISTIC = 7 => Logistic,
        ACT_TANH = 8 => Tanh,
        ACT_EXP = 9 => Exp,
        ACT_SQRT = 10 => Sqrt,
        ACT_RSQRT = 11 => Rsqrt,
        ACT_SQUARE = 12 => Square,
        ACT_ABS = 13 => Abs,
        ACT_NEG = 14 => Neg,
        ACT_PRELU = 15,
        ACT_CLIP = 16 => Clip { min, max } (min, max.to_bits()),
        ACT_HARD_SIGMOID = 17 => HardSigmoid { alpha, beta } (alpha, beta.to_bits()),
        ACT_SILU = 18 => Silu,
        ACT_GELU = 19 => Gelu,
        ACT_GELU_TANH = 20 => GeluTanh,
        ACT_SOFTPLUS = 21 => Softplus,
        ACT_MISH = 22 => Mish,
        ACT_FAKE_QUANT = 23 => FakeQuant { scale, least, most } (scale, halves(least, most)),
        ACT_QUANTIZE = 24 => Quantize { scale, least, most } (scale, halves(least, most)),
        ACT_ROUND_AWAY = 25 => RoundAway { origin, least, most } (origin, halves(least, most)),
        ACT_REQUANTIZE_FIXED = 26,
        ACT_REQUANTIZE_FLOAT = 27,
        ACT_FAKE_QUANT_EVEN = 28 => FakeQuantEven { scale, least, most } (scale, halves(least, most)),
        ACT_QUANTIZE_EVEN = 29 => QuantizeEven { scale, least, most } (scale, halves(least, most)),
        ACT_QUANTIZE_BYTE = 30 => QuantizeByte { scale, zero, least } (scale, halves(zero, least)),
        ACT_PLUS = 61,
        ACT_TIMES = 62,
        ACT_DIVIDED_BY = 63,
        ACT_REQUANTIZE_BYTE = 31 => RequantizeByte { ratio, zero, least } (ratio, halves(zero, least)),
    }

    /// Functions that `unary.wgsl` supports in addition to those of `activate`, which it calls.
    FUNCTIONS {
        UNARY_SELU = 32 => Selu { alpha, gamma } (alpha, gamma.to_bits()),
        UNARY_CELU = 33 => Celu { alpha } (alpha),
        UNARY_THRESHOLDED_RELU = 34 => ThresholdedRelu { alpha } (alpha),
        UNARY_SOFTSIGN = 35 => Softsign,
        UNARY_SHRINK = 36 => Shrink { bias, lambda } (bias, lambda.to_bits()),
        UNARY_LOG = 37 => Log,
        UNARY_RECIPROCAL = 38 => Reciprocal,
        UNARY_SIGN = 39 => Sign,
        UNARY_ERF = 40 => Erf,
        UNARY_SIN = 41 => Sin,
        UNARY_COS = 42 => Cos,
        UNARY_TAN = 43 => Tan,
        UNARY_ASIN = 44 => Asin,
        UNARY_ACOS = 45 => Acos,
        UNARY_ATAN = 46 => Atan,
        UNARY_SINH = 47 => Sinh,
        UNARY_COSH = 48 => Cosh,
        UNARY_ASINH = 49 => Asinh,
        UNARY_ACOSH = 50 => Acosh,
        UNARY_ATANH = 51 => Atanh,
        UNARY_FLOOR = 52 => Floor,
        UNARY_CEIL = 53 => Ceil,
        UNARY_ROUND = 54 => Round,
        UNARY_TRUNC = 55 => Trunc,
        UNARY_TO_HALF = 56 => ToHalf,
        UNARY_NOT = 57 => Not,
        UNARY_NOT_ZERO = 58 => NotZero,
        UNARY_IS_NAN = 59 => IsNan,
        UNARY_IS_INF = 60 => IsInf { negative, positive } (flag(negative), flag(positive).to_bits()),
    }

    clips {
        Relu (0.0, f32::INFINITY),
        Relu6 (0.0, 6.0),
        ReluN1To1 (-1.0, 1.0),
    }
}

shared_constants! {
    /// Layout of the factors of a requantisation.
    REQUANTIZE:
    REQUANTIZE_ROWS = Requantize::ROWS as u32,
    REQUANTIZE_ADDEND = Requantize::ADDEND_STEP.unsigned_abs(),
}

/// Returns the code and parameters of a function that epilogues support.
pub(crate) fn in_epilogue(function: Unary) -> Option<(u32, f32, u32)> {
    let coded = code(function);
    ACTIVATIONS.iter().any(|&(_, held)| held == coded.0).then_some(coded)
}

/// Returns the code and parameters of a clip. All clips have the same code, so kernels with different ones share a
/// pipeline, and so do kernels without a function, whose bounds are infinite ([`NO_CLIP`]).
const fn clip(least: f32, most: f32) -> (u32, f32, u32) {
    (ACT_CLIP, least, most.to_bits())
}

/// A clip that passes every value on, NaN included.
pub(crate) const NO_CLIP: (u32, f32, u32) = clip(f32::NEG_INFINITY, f32::INFINITY);

/// Returns two numbers of 16 bits as one word, because there are three numbers for two parameters.
const fn halves(low: i16, high: i16) -> u32 {
    low.cast_unsigned() as u32 | (high.cast_unsigned() as u32) << 16
}

fn flag(on: bool) -> f32 {
    f32::from(u8::from(on))
}
