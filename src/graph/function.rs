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

/// Generates [`Unary`] from the table below: the functions with their parameters, and their names. Every parameter
/// has an example value, from which [`Unary::EXAMPLES`] is built.
macro_rules! unary_functions {
    ($(
        $(#[$doc:meta])*
        $function:ident $({ $($(#[$param_doc:meta])* $param:ident: $type:ty = $example:expr,)* })? => $name:literal,
    )*) => {
        /// Functions of one value.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Unary {
            $($(#[$doc])* $function $({ $($(#[$param_doc])* $param: $type,)* })?,)*
        }

        impl Unary {
            /// One example of every function, for tests.
            #[doc(hidden)]
            pub const EXAMPLES: &[Self] = &[$(Self::$function $({ $($param: $example),* })?),*];

            /// The function's name as the TensorFlow Lite schema writes it, or as ONNX does where the schema has none.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$function { .. } => $name,)*
                }
            }
        }
    };
}

/// Generates [`Binary`] in the same way.
macro_rules! binary_functions {
    ($($(#[$doc:meta])* $function:ident => $name:literal,)*) => {
        /// Functions of two values, with broadcasting.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Binary {
            $($(#[$doc])* $function,)*
        }

        impl Binary {
            /// Every function, for tests.
            #[doc(hidden)]
            pub const ALL: &[Self] = &[$(Self::$function),*];

            /// The function's name as the TensorFlow Lite schema writes it, or as ONNX does where the schema has none.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$function => $name,)*
                }
            }
        }
    };
}

unary_functions! {
    /// `max(x, 0)`
    Relu => "RELU",
    /// `min(max(x, 0), 6)`
    Relu6 => "RELU6",
    /// `min(max(x, -1), 1)`
    ReluN1To1 => "RELU_N1_TO_1",
    /// `x < 0 ? alpha * x : x`
    LeakyRelu {
        /// Slope below zero.
        alpha: f32 = 0.3,
    } => "LEAKY_RELU",
    /// `x < 0 ? alpha * (exp(x) - 1) : x`
    Elu {
        /// The negated limit for very negative `x`.
        alpha: f32 = 1.3,
    } => "ELU",
    /// `gamma * (x <= 0 ? alpha * (exp(x) - 1) : x)`
    Selu {
        /// See [`Elu`](Self::Elu).
        alpha: f32 = 1.673,
        /// Factor of the whole result.
        gamma: f32 = 1.0507,
    } => "Selu",
    /// `max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))`
    Celu {
        /// The negated limit for very negative `x`.
        alpha: f32 = 0.8,
    } => "Celu",
    /// `x > alpha ? x : 0`
    ThresholdedRelu {
        /// Threshold; only values above it pass.
        alpha: f32 = 0.7,
    } => "ThresholdedRelu",
    /// `max(0, min(1, alpha * x + beta))`
    HardSigmoid {
        /// Slope.
        alpha: f32 = 0.3,
        /// Value at zero.
        beta: f32 = 0.4,
    } => "HardSigmoid",
    /// `min(max(x, min), max)`
    Clip {
        /// Least result.
        min: f32 = -0.5,
        /// Greatest result.
        max: f32 = 1.25,
    } => "Clip",
    /// `x * min(max(x + 3, 0), 6) / 6`
    HardSwish => "HARD_SWISH",
    /// `1 / (1 + exp(-x))`
    Logistic => "LOGISTIC",
    /// `x / (1 + exp(-x))`
    Silu => "Swish",
    /// `x / 2 * (1 + erf(x / sqrt(2)))`
    Gelu => "GELU",
    /// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`
    GeluTanh => "GELU",
    /// `log(1 + exp(x))`
    Softplus => "Softplus",
    /// `x / (1 + |x|)`
    Softsign => "Softsign",
    /// `x * tanh(log(1 + exp(x)))`
    Mish => "Mish",
    /// `x < -lambda ? x + bias : x > lambda ? x - bias : 0`
    Shrink {
        /// Distance by which values are moved towards zero.
        bias: f32 = 0.25,
        /// Values whose magnitude is at most this become zero.
        lambda: f32 = 0.5,
    } => "Shrink",
    /// `e^x`
    Exp => "EXP",
    /// Natural logarithm.
    Log => "LOG",
    /// Square root.
    Sqrt => "SQRT",
    /// `1 / sqrt(x)`
    Rsqrt => "RSQRT",
    /// `x * x`
    Square => "SQUARE",
    /// `1 / x`
    Reciprocal => "Reciprocal",
    /// Absolute value.
    Abs => "ABS",
    /// `-x`
    Neg => "NEG",
    /// -1, 0 or 1; NaN of NaN.
    Sign => "SIGN",
    /// The error function.
    Erf => "Erf",
    /// Sine of radians, within a few units of 2^-24 for every angle that a float holds.
    Sin => "SIN",
    /// Cosine of radians, with the same accuracy.
    Cos => "COS",
    /// Tangent of radians: the quotient of those two.
    Tan => "Tan",
    /// Arcsine, in radians.
    Asin => "Asin",
    /// Arccosine, in radians.
    Acos => "Acos",
    /// Arctangent, in radians.
    Atan => "Atan",
    /// Hyperbolic sine.
    Sinh => "Sinh",
    /// Hyperbolic cosine.
    Cosh => "Cosh",
    /// Hyperbolic tangent.
    Tanh => "TANH",
    /// Inverse hyperbolic sine.
    Asinh => "Asinh",
    /// Inverse hyperbolic cosine.
    Acosh => "Acosh",
    /// Inverse hyperbolic tangent.
    Atanh => "Atanh",
    /// The greatest whole number not above `x`.
    Floor => "FLOOR",
    /// The least whole number not below `x`.
    Ceil => "CEIL",
    /// The nearest whole number; halves round to the even one.
    Round => "ROUND",
    /// The whole number next to `x` in the direction of zero.
    Trunc => "CAST",
    /// The nearest value that a 16-bit float can hold.
    ToHalf => "CAST",
    /// `min(max(round(x / scale), least), most) * scale`, with halves rounded away from zero. This is the precision
    /// left after storing a value as an 8-bit integer.
    FakeQuant {
        /// Distance of neighbouring values, above zero.
        scale: f32 = 0.125,
        /// Least multiple of it.
        least: i16 = -9,
        /// Greatest multiple of it.
        most: i16 = 6,
    } => "FAKE_QUANT",
    /// `x == 0`
    Not => "LOGICAL_NOT",
    /// `x != 0`
    NotZero => "CAST",
    /// True if `x` is NaN.
    IsNan => "IsNaN",
    /// True if `x` is infinite.
    IsInf {
        /// Counts negative infinity.
        negative: bool = true,
        /// Counts positive infinity.
        positive: bool = false,
    } => "IsInf",
}

binary_functions! {
    /// `a + b`
    Add => "ADD",
    /// `a - b`
    Sub => "SUB",
    /// `a * b`
    Mul => "MUL",
    /// `a / b`
    Div => "DIV",
    /// The greater.
    Maximum => "MAXIMUM",
    /// The lesser.
    Minimum => "MINIMUM",
    /// `a^b`. The result is 1 if `b` is 0, and NaN if `a` is negative and `b` is not a whole number.
    Pow => "POW",
    /// `a - b * floor(a / b)`, rounded once, however large the quotient is. Has the sign of `b`.
    Mod => "FLOOR_MOD",
    /// `a - b * trunc(a / b)`, exact, however large the quotient is. Has the sign of `a`.
    Fmod => "Mod",
    /// `floor(a / b)`. Beyond 2^24 it is as accurate as a division.
    FloorDiv => "FLOOR_DIV",
    /// `trunc(a / b)`, with the same accuracy.
    TruncDiv => "DIV",
    /// `(a - b)^2`
    SquaredDifference => "SQUARED_DIFFERENCE",
    /// `a == b`
    Equal => "EQUAL",
    /// `a != b`
    NotEqual => "NOT_EQUAL",
    /// `a < b`
    Less => "LESS",
    /// `a <= b`
    LessEqual => "LESS_EQUAL",
    /// `a > b`
    Greater => "GREATER",
    /// `a >= b`
    GreaterEqual => "GREATER_EQUAL",
    /// True if both operands are true.
    And => "LOGICAL_AND",
    /// True if at least one operand is true.
    Or => "LOGICAL_OR",
    /// True if exactly one operand is true.
    Xor => "Xor",
    /// `a != 0 ? b : 0`
    ZeroUnless => "SELECT_V2",
    /// `a != 0 ? 0 : b`
    ZeroIf => "SELECT_V2",
}

impl Binary {
    /// Returns whether the result is a truth value.
    pub(crate) const fn is_truth(self) -> bool {
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
