//! Functions of one value, of two and of many, as computed by the operators on values.
//!
//! Whole numbers and truth values are stored as floats, which hold them exactly. A truth value is written as 0 or 1;
//! any value except 0 counts as true.
//!
//! # NaN
//!
//! NaN propagates: a result computed from a NaN is NaN, as in ONNX's reference implementation (NumPy) and in IEEE
//! 754-2019's `maximum` and `minimum`. The CPU references do so everywhere. Kernels do so, too, on all drivers that
//! the tests run on. WGSL lets devices ignore NaN entirely, so kernels that depend on it use comparisons that are
//! false for NaN, or test bits.
//!
//! | | with NaN |
//! |---|---|
//! | RELU, RELU6, Clip and all functions of one value that are not listed below | NaN |
//! | ThresholdedRelu, Shrink | 0, as their definitions say: NaN is neither above nor below a threshold |
//! | LOGICAL_NOT, CAST to truth values, AND, OR, XOR | NaN is true |
//! | IsNaN, IsInf | 1 and 0 |
//! | MAXIMUM, MINIMUM, maximum and minimum of an axis, MAX_POOL_2D | NaN wins, even if onnxruntime's pool skips it |
//! | EQUAL and all comparisons; NOT_EQUAL | false; true |
//! | POW | NaN, except that `x^0` and `1^x` are 1 |
//! | ARG_MAX, ARG_MIN | the first NaN (the last, if ties resolve to the last index) |
//! | TOPK_V2 | NaN ranks above all numbers |
//! | SOFTMAX, sums, means, products, convolutions | every value of the line, window or row is NaN |
//! | CAST to integers, an index that is NaN | undefined, but no kernel accesses memory outside a tensor |
//!
//! A kernel may spread NaN and infinities further than this, but never less. A convolution whose groups share a texel
//! (their channels are not a multiple of four) multiplies the other group's channels by zeros. A resize by parts does
//! the same.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::evaluate::{bounded, byte_of, erf, floor_mod, greater, in_double, lesser, quantized_even, softplus, truth};

/// Generates [`Unary`] from the table below: the functions with their parameters, their names and their values. Every
/// parameter has an example value, from which [`Unary::EXAMPLES`] is built.
macro_rules! unary_functions {
    ($(
        $(#[$doc:meta])*
        $function:ident $({ $($(#[$param_doc:meta])* $param:ident: $type:ty = $example:expr,)* })?
            => $name:literal, |$x:ident| $value:expr,
    )*) => {
        /// Functions of one value.
        ///
        /// ```
        /// use texpool::graph::Unary;
        ///
        /// assert_eq!(Unary::Relu6.of(8.0), 6.0);
        /// assert_eq!(Unary::LeakyRelu { alpha: 0.1 }.of(-2.0), -0.2);
        /// assert_eq!(Unary::Round.of(2.5), 2.0); // to even
        /// assert!(Unary::Relu.of(f32::NAN).is_nan());
        /// assert_eq!(Unary::Logistic.name(), "LOGISTIC");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Unary {
            $($(#[$doc])* $function $({ $($(#[$param_doc])* $param: $type,)* })?,)*
        }

        impl Unary {
            /// One example of every function, for tests.
            pub const EXAMPLES: &[Self] = &[$(Self::$function $({ $($param: $example),* })?),*];

            /// The function's name as the TensorFlow Lite schema writes it, or as ONNX does where the schema has none.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$function { .. } => $name,)*
                }
            }

            /// Evaluates the function. Uses double precision where single precision would lose digits.
            pub fn of(self, x: f32) -> f32 {
                match self {
                    $(Self::$function $({ $($param),* })? => {
                        let $x = x;
                        $value
                    })*
                }
            }
        }
    };
}

/// Generates [`Binary`] in the same way.
macro_rules! binary_functions {
    ($($(#[$doc:meta])* $function:ident => $name:literal, |$a:ident, $b:ident| $value:expr,)*) => {
        /// Functions of two values, with broadcasting.
        ///
        /// ```
        /// use texpool::graph::Binary;
        ///
        /// assert_eq!(Binary::Mod.of(-7.0, 3.0), 2.0); // the sign of the divisor
        /// assert_eq!(Binary::Fmod.of(-7.0, 3.0), -1.0); // the sign of the dividend
        /// assert_eq!(Binary::Less.of(1.0, 2.0), 1.0);
        /// assert!(Binary::Less.is_truth() && !Binary::ZeroUnless.is_truth());
        /// assert_eq!(Binary::Mod.name(), "FLOOR_MOD");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Binary {
            $($(#[$doc])* $function,)*
        }

        impl Binary {
            /// Every function, for tests.
            pub const ALL: &[Self] = &[$(Self::$function),*];

            /// The function's name as the TensorFlow Lite schema writes it, or as ONNX does where the schema has none.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$function => $name,)*
                }
            }

            /// Evaluates the function. Uses double precision where single precision would lose digits.
            pub fn of(self, a: f32, b: f32) -> f32 {
                match self {
                    $(Self::$function => {
                        let [$a, $b] = [a, b];
                        $value
                    })*
                }
            }
        }
    };
}

unary_functions! {
    /// `max(x, 0)`
    Relu => "RELU", |x| bounded(x, 0.0, f32::INFINITY),
    /// `min(max(x, 0), 6)`
    Relu6 => "RELU6", |x| bounded(x, 0.0, 6.0),
    /// `min(max(x, -1), 1)`
    ReluN1To1 => "RELU_N1_TO_1", |x| bounded(x, -1.0, 1.0),
    /// `x < 0 ? alpha * x : x`
    LeakyRelu {
        /// Slope below zero.
        alpha: f32 = 0.3,
    } => "LEAKY_RELU", |x| if x < 0.0 { alpha * x } else { x },
    /// `x < 0 ? alpha * (exp(x) - 1) : x`
    Elu {
        /// The negated limit for very negative `x`.
        alpha: f32 = 1.3,
    } => "ELU", |x| if x < 0.0 { alpha * (x.exp() - 1.0) } else { x },
    /// `gamma * (x <= 0 ? alpha * (exp(x) - 1) : x)`
    Selu {
        /// See [`Elu`](Self::Elu).
        alpha: f32 = 1.673,
        /// Factor of the whole result.
        gamma: f32 = 1.0507,
    } => "Selu", |x| gamma * if x <= 0.0 { alpha * x.exp_m1() } else { x },
    /// `max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))`
    Celu {
        /// The negated limit for very negative `x`.
        alpha: f32 = 0.8,
    } => "Celu", |x| {
        // `min` drops NaN, but the first summand keeps it.
        bounded(x, 0.0, f32::INFINITY) + (alpha * (x / alpha).exp_m1()).min(0.0)
    },
    /// `x > alpha ? x : 0`
    ThresholdedRelu {
        /// Threshold; only values above it pass.
        alpha: f32 = 0.7,
    } => "ThresholdedRelu", |x| if x > alpha { x } else { 0.0 },
    /// `max(0, min(1, alpha * x + beta))`
    HardSigmoid {
        /// Slope.
        alpha: f32 = 0.3,
        /// Value at zero.
        beta: f32 = 0.4,
    } => "HardSigmoid", |x| bounded(alpha * x + beta, 0.0, 1.0),
    /// `min(max(x, min), max)`
    Clip {
        /// Least result.
        min: f32 = -0.5,
        /// Greatest result.
        max: f32 = 1.25,
    } => "Clip", |x| bounded(x, min, max),
    /// `x * min(max(x + 3, 0), 6) / 6`
    HardSwish => "HARD_SWISH", |x| x * bounded(x + 3.0, 0.0, 6.0) / 6.0,
    /// `1 / (1 + exp(-x))`
    Logistic => "LOGISTIC", |x| 1.0 / (1.0 + (-x).exp()),
    /// `x / (1 + exp(-x))`
    Silu => "Swish", |x| in_double(x, |x| x / (1.0 + (-x).exp())),
    /// `x / 2 * (1 + erf(x / sqrt(2)))`
    Gelu => "GELU", |x| in_double(x, |x| 0.5 * x * (1.0 + erf(x * FRAC_1_SQRT_2))),
    /// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`
    GeluTanh => "GELU", |x| in_double(x, |x| {
        let inner = (2.0 / PI).sqrt() * (x + 0.044715 * x.powi(3));
        0.5 * x * (1.0 + inner.tanh())
    }),
    /// `log(1 + exp(x))`
    Softplus => "Softplus", |x| in_double(x, softplus),
    /// `x / (1 + |x|)`
    Softsign => "Softsign", |x| x / (1.0 + x.abs()),
    /// `x * tanh(log(1 + exp(x)))`
    Mish => "Mish", |x| in_double(x, |x| x * softplus(x).tanh()),
    /// `x < -lambda ? x + bias : x > lambda ? x - bias : 0`
    Shrink {
        /// Distance by which values are moved towards zero.
        bias: f32 = 0.25,
        /// Values whose magnitude is at most this become zero.
        lambda: f32 = 0.5,
    } => "Shrink", |x| match x {
        x if x < -lambda => x + bias,
        x if x > lambda => x - bias,
        _ => 0.0,
    },
    /// `e^x`
    Exp => "EXP", |x| x.exp(),
    /// Natural logarithm.
    Log => "LOG", |x| x.ln(),
    /// Square root.
    Sqrt => "SQRT", |x| x.sqrt(),
    /// `1 / sqrt(x)`
    Rsqrt => "RSQRT", |x| x.sqrt().recip(),
    /// `x * x`
    Square => "SQUARE", |x| x * x,
    /// `1 / x`
    Reciprocal => "Reciprocal", |x| x.recip(),
    /// Absolute value.
    Abs => "ABS", |x| x.abs(),
    /// `-x`
    Neg => "NEG", |x| -x,
    /// -1, 0 or 1; NaN of NaN.
    Sign => "SIGN", |x| if x.is_nan() { x } else { f32::from(i8::from(x > 0.0) - i8::from(x < 0.0)) },
    /// The error function.
    Erf => "Erf", |x| in_double(x, erf),
    /// Sine of radians, within a few units of 2^-24 for every angle that a float holds.
    Sin => "SIN", |x| in_double(x, f64::sin),
    /// Cosine of radians, with the same accuracy.
    Cos => "COS", |x| in_double(x, f64::cos),
    /// Tangent of radians: the quotient of those two.
    Tan => "Tan", |x| in_double(x, f64::tan),
    /// Arcsine, in radians.
    Asin => "Asin", |x| in_double(x, f64::asin),
    /// Arccosine, in radians.
    Acos => "Acos", |x| in_double(x, f64::acos),
    /// Arctangent, in radians.
    Atan => "Atan", |x| in_double(x, f64::atan),
    /// Hyperbolic sine.
    Sinh => "Sinh", |x| in_double(x, f64::sinh),
    /// Hyperbolic cosine.
    Cosh => "Cosh", |x| in_double(x, f64::cosh),
    /// Hyperbolic tangent.
    Tanh => "TANH", |x| x.tanh(),
    /// Inverse hyperbolic sine.
    Asinh => "Asinh", |x| in_double(x, f64::asinh),
    /// Inverse hyperbolic cosine.
    Acosh => "Acosh", |x| in_double(x, f64::acosh),
    /// Inverse hyperbolic tangent.
    Atanh => "Atanh", |x| in_double(x, f64::atanh),
    /// The greatest whole number not above `x`.
    Floor => "FLOOR", |x| x.floor(),
    /// The least whole number not below `x`.
    Ceil => "CEIL", |x| x.ceil(),
    /// The nearest whole number; halves round to the even one.
    Round => "ROUND", |x| x.round_ties_even(),
    /// The whole number next to `x` in the direction of zero.
    Trunc => "CAST", |x| x.trunc(),
    /// The nearest value that a 16-bit float can hold.
    ToHalf => "CAST", |x| half::f16::from_f32(x).to_f32(),
    /// `min(max(round(x / scale), least), most) * scale`, with halves rounded away from zero. This is the precision
    /// left after storing a value as an 8-bit integer.
    FakeQuant {
        /// Distance of neighbouring values, above zero.
        scale: f32 = 0.125,
        /// Least multiple of it.
        least: i16 = -9,
        /// Greatest multiple of it.
        most: i16 = 6,
    } => "FAKE_QUANT", |x| bounded((x / scale).round(), f32::from(least), f32::from(most)) * scale,
    /// `min(max(round(x / scale), least), most)`, with halves rounded away from zero: the integers of values on a grid,
    /// counted from the zero point.
    Quantize {
        /// Distance of neighbouring values, above zero.
        scale: f32 = 0.125,
        /// Least result.
        least: i16 = -9,
        /// Greatest result.
        most: i16 = 6,
    } => "QUANTIZE", |x| bounded((x / scale).round(), f32::from(least), f32::from(most)),
    /// `min(max(round(x / scale), least), most) * scale`, with halves rounded to the even one: ONNX's `QuantizeLinear` and
    /// `DequantizeLinear`.
    FakeQuantEven {
        /// Distance of neighbouring values, above zero.
        scale: f32 = 0.125,
        /// Least multiple of it.
        least: i16 = -9,
        /// Greatest multiple of it.
        most: i16 = 6,
    } => "DequantizeLinear", |x| quantized_even(x, scale, least, most) * scale,
    /// `min(max(round(x / scale), least), most)`, with halves rounded to the even one: ONNX's `QuantizeLinear`, counted
    /// from the zero point.
    QuantizeEven {
        /// Distance of neighbouring values, above zero.
        scale: f32 = 0.125,
        /// Least result.
        least: i16 = -9,
        /// Greatest result.
        most: i16 = 6,
    } => "QuantizeLinear", |x| quantized_even(x, scale, least, most),
    /// `min(max(round(x / scale + zero), least), least + 255) - zero`, with halves rounded to the even one: the 8-bit
    /// integers that ONNX Runtime computes behind pools, counted from the zero point.
    QuantizeByte {
        /// Distance of neighbouring values, above zero.
        scale: f32 = 0.125,
        /// The zero point.
        zero: i16 = 3,
        /// Least integer, counted from zero.
        least: i16 = -128,
    } => "QuantizeLinear", |x| byte_of(x / scale, zero, least),
    /// `min(max(round(x * ratio + zero), least), least + 255) - zero`, with halves rounded to the even one: the 8-bit
    /// integers of ONNX Runtime's products, counted from the zero point.
    RequantizeByte {
        /// Unit of the product by the distance of neighbouring values, above zero.
        ratio: f32 = 7.75,
        /// The zero point.
        zero: i16 = 3,
        /// Least integer, counted from zero.
        least: i16 = -128,
    } => "QuantizeLinear", |x| byte_of(x * ratio, zero, least),
    /// `min(max(round(x + origin) - origin, least), most)`, with halves rounded away from zero. Rounds integers that
    /// are counted from their zero point as a runtime rounds them that counts from zero.
    RoundAway {
        /// The zero point, a whole number.
        origin: f32 = 3.0,
        /// Least result.
        least: i16 = -9,
        /// Greatest result.
        most: i16 = 6,
    } => "ROUND", |x| bounded((x + origin).round() - origin, f32::from(least), f32::from(most)),
    /// `x == 0`
    Not => "LOGICAL_NOT", |x| truth(x == 0.0),
    /// `x != 0`
    NotZero => "CAST", |x| truth(x != 0.0),
    /// True if `x` is NaN.
    IsNan => "IsNaN", |x| truth(x.is_nan()),
    /// True if `x` is infinite.
    IsInf {
        /// Counts negative infinity.
        negative: bool = true,
        /// Counts positive infinity.
        positive: bool = false,
    } => "IsInf", |x| truth(negative && x == f32::NEG_INFINITY || positive && x == f32::INFINITY),
}

binary_functions! {
    /// `a + b`
    Add => "ADD", |a, b| a + b,
    /// `a - b`
    Sub => "SUB", |a, b| a - b,
    /// `a * b`
    Mul => "MUL", |a, b| a * b,
    /// `a / b`
    Div => "DIV", |a, b| a / b,
    /// The greater.
    Maximum => "MAXIMUM", |a, b| greater(a, b),
    /// The lesser.
    Minimum => "MINIMUM", |a, b| lesser(a, b),
    /// `a^b`. The result is 1 if `b` is 0, and NaN if `a` is negative and `b` is not a whole number.
    Pow => "POW", |a, b| f64::from(a).powf(f64::from(b)) as f32,
    /// `a - b * floor(a / b)`, rounded once, however large the quotient is. Has the sign of `b`.
    Mod => "FLOOR_MOD", |a, b| floor_mod(a, b),
    /// `a - b * trunc(a / b)`, exact, however large the quotient is. Has the sign of `a`.
    Fmod => "Mod", |a, b| a % b,
    /// `floor(a / b)`. Beyond 2^24 it is as accurate as a division.
    FloorDiv => "FLOOR_DIV", |a, b| (f64::from(a) / f64::from(b)).floor() as f32,
    /// `trunc(a / b)`, with the same accuracy.
    TruncDiv => "DIV", |a, b| (f64::from(a) / f64::from(b)).trunc() as f32,
    /// `(a - b)^2`
    SquaredDifference => "SQUARED_DIFFERENCE", |a, b| (a - b) * (a - b),
    /// `a == b`
    Equal => "EQUAL", |a, b| truth(a == b),
    /// `a != b`
    NotEqual => "NOT_EQUAL", |a, b| truth(a != b),
    /// `a < b`
    Less => "LESS", |a, b| truth(a < b),
    /// `a <= b`
    LessEqual => "LESS_EQUAL", |a, b| truth(a <= b),
    /// `a > b`
    Greater => "GREATER", |a, b| truth(a > b),
    /// `a >= b`
    GreaterEqual => "GREATER_EQUAL", |a, b| truth(a >= b),
    /// True if both operands are true.
    And => "LOGICAL_AND", |a, b| truth(a != 0.0 && b != 0.0),
    /// True if at least one operand is true.
    Or => "LOGICAL_OR", |a, b| truth(a != 0.0 || b != 0.0),
    /// True if exactly one operand is true.
    Xor => "Xor", |a, b| truth((a != 0.0) != (b != 0.0)),
    /// `a != 0 ? b : 0`
    ZeroUnless => "SELECT_V2", |a, b| if a != 0.0 { b } else { 0.0 },
    /// `a != 0 ? 0 : b`
    ZeroIf => "SELECT_V2", |a, b| if a != 0.0 { 0.0 } else { b },
}

impl Binary {
    /// Returns whether the result is a truth value.
    pub const fn is_truth(self) -> bool {
        matches!(
            self,
            Self::Equal
                | Self::NotEqual
                | Self::Less
                | Self::LessEqual
                | Self::Greater
                | Self::GreaterEqual
                | Self::And
                | Self::Or
                | Self::Xor
        )
    }
}
