//! Functions of one value, of two, and of many: what the operators on values compute.
//!
//! Whole numbers and truth values are floats that hold them exactly; a truth value is 0 or 1, and anything but 0 is
//! true.
//!
//! # What is no number
//!
//! NaN goes through: a result that is worked out from a NaN is one, as in ONNX's reference implementation (NumPy) and
//! in IEEE 754-2019's `maximum` and `minimum`. The references do so everywhere, and kernels on devices, too, on the
//! drivers the tests run on; WGSL leaves it to devices whether there is NaN at all, so what counts is written with
//! comparisons that are false of NaN, or looks at bits.
//!
//! | | with NaN |
//! |---|---|
//! | RELU, RELU6, Clip and all other functions of one value, but for those named here | NaN |
//! | ThresholdedRelu, Shrink | 0, as their definitions say: NaN is neither above nor below a threshold |
//! | LOGICAL_NOT, CAST to truth values, AND, OR, XOR | NaN is true |
//! | IsNaN, IsInf | 1 and 0 |
//! | MAXIMUM, MINIMUM, greatest and least of an axis, MAX_POOL_2D | NaN wins, also where onnxruntime's pool skips it |
//! | EQUAL and all comparisons; NOT_EQUAL | false; true |
//! | POW | NaN, but `x^0` and `1^x` are 1 |
//! | ARG_MAX, ARG_MIN | the first NaN (the last, where the last of equal ones is asked for) |
//! | TOPK_V2 | NaN is above all numbers |
//! | SOFTMAX, sums, means, products, convolutions | every value of the line, window or row is NaN |
//! | CAST to integers, an index that is NaN | undefined; no kernel reads outside a tensor for it |
//!
//! A kernel may spread NaN and infinities further than that, never less: a convolution of groups that share a texel
//! (their channels are no multiple of four) multiplies the other group's channels by zeros, and so does a resize by
//! parts.

/// Writes [`Unary`] from the table below: the functions with what they compute and their parameters, each of which has
/// a value that stands for all others in [`Unary::EXAMPLES`], and the names.
macro_rules! unary_functions {
    ($(
        $(#[$doc:meta])*
        $function:ident $({ $($(#[$param_doc:meta])* $param:ident: $type:ty = $example:expr,)* })? => $name:literal,
    )*) => {
        /// Functions of one value.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Unary {
            $($(#[$doc])* $function $({ $($(#[$param_doc])* $param: $type,)* })?,)*
        }

        impl Unary {
            /// Every function, for tests that must know no other list.
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

/// Writes [`Binary`] likewise.
macro_rules! binary_functions {
    ($($(#[$doc:meta])* $function:ident => $name:literal,)*) => {
        /// Functions of two values, with broadcasting.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Binary {
            $($(#[$doc])* $function,)*
        }

        impl Binary {
            /// Every function, for tests that must know no other list.
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
        /// What is approached far below zero, negated.
        alpha: f32 = 1.3,
    } => "ELU",
    /// `gamma * (x <= 0 ? alpha * (exp(x) - 1) : x)`
    Selu {
        /// As that of [`Elu`](Self::Elu).
        alpha: f32 = 1.673,
        /// Factor of everything.
        gamma: f32 = 1.0507,
    } => "Selu",
    /// `max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))`
    Celu {
        /// What is approached far below zero, negated.
        alpha: f32 = 0.8,
    } => "Celu",
    /// `x > alpha ? x : 0`
    ThresholdedRelu {
        /// Above which values pass.
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
        /// By how much values come nearer to zero.
        bias: f32 = 0.25,
        /// Up to which absolute value they become zero.
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
    /// Cosine of radians, likewise.
    Cos => "COS",
    /// Tangent of radians: the quotient of those two.
    Tan => "Tan",
    /// Its inverse: radians.
    Asin => "Asin",
    /// Its inverse: radians.
    Acos => "Acos",
    /// Its inverse: radians.
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
    /// The nearest whole number, halves to the even one.
    Round => "ROUND",
    /// The whole number next to `x` in the direction of zero.
    Trunc => "CAST",
    /// The nearest value that 16 bits hold.
    ToHalf => "CAST",
    /// `min(max(round(x / scale), least), most) * scale`, halves rounded away from zero: what is left of a value that
    /// is stored as an 8-bit integer.
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
    /// Whether `x` is no number.
    IsNan => "IsNaN",
    /// Whether `x` is infinite.
    IsInf {
        /// Whether negative infinity counts.
        negative: bool = true,
        /// Whether positive infinity counts.
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
    /// `a^b`; 1 where `b` is 0, and no number where `a` is negative and `b` not whole.
    Pow => "POW",
    /// `a - b * floor(a / b)`, rounded once, however large the quotient: has the sign of `b`.
    Mod => "FLOOR_MOD",
    /// `a - b * trunc(a / b)`, exactly, however large the quotient: has the sign of `a`.
    Fmod => "Mod",
    /// `floor(a / b)`; beyond 2^24 as near as a division is.
    FloorDiv => "FLOOR_DIV",
    /// `trunc(a / b)`, likewise.
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
    /// Whether both are true.
    And => "LOGICAL_AND",
    /// Whether one is true, or both.
    Or => "LOGICAL_OR",
    /// Whether one is true, and not both.
    Xor => "Xor",
    /// `a != 0 ? b : 0`
    ZeroUnless => "SELECT_V2",
    /// `a != 0 ? 0 : b`
    ZeroIf => "SELECT_V2",
}

impl Binary {
    /// Whether it answers truth values.
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
