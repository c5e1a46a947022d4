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

/// Functions of one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unary {
    /// `max(x, 0)`
    Relu,
    /// `min(max(x, 0), 6)`
    Relu6,
    /// `min(max(x, -1), 1)`
    ReluN1To1,
    /// `x < 0 ? alpha * x : x`
    LeakyRelu {
        /// Slope below zero.
        alpha: f32,
    },
    /// `x < 0 ? alpha * (exp(x) - 1) : x`
    Elu {
        /// What is approached far below zero, negated.
        alpha: f32,
    },
    /// `gamma * (x <= 0 ? alpha * (exp(x) - 1) : x)`
    Selu {
        /// As that of [`Elu`](Self::Elu).
        alpha: f32,
        /// Factor of everything.
        gamma: f32,
    },
    /// `max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))`
    Celu {
        /// What is approached far below zero, negated.
        alpha: f32,
    },
    /// `x > alpha ? x : 0`
    ThresholdedRelu {
        /// Above which values pass.
        alpha: f32,
    },
    /// `max(0, min(1, alpha * x + beta))`
    HardSigmoid {
        /// Slope.
        alpha: f32,
        /// Value at zero.
        beta: f32,
    },
    /// `min(max(x, min), max)`
    Clip {
        /// Least result.
        min: f32,
        /// Greatest result.
        max: f32,
    },
    /// `x * min(max(x + 3, 0), 6) / 6`
    HardSwish,
    /// `1 / (1 + exp(-x))`
    Logistic,
    /// `x / (1 + exp(-x))`
    Silu,
    /// `x / 2 * (1 + erf(x / sqrt(2)))`
    Gelu,
    /// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`
    GeluTanh,
    /// `log(1 + exp(x))`
    Softplus,
    /// `x / (1 + |x|)`
    Softsign,
    /// `x * tanh(log(1 + exp(x)))`
    Mish,
    /// `x < -lambda ? x + bias : x > lambda ? x - bias : 0`
    Shrink {
        /// By how much values come nearer to zero.
        bias: f32,
        /// Up to which absolute value they become zero.
        lambda: f32,
    },
    /// `e^x`
    Exp,
    /// Natural logarithm.
    Log,
    /// Square root.
    Sqrt,
    /// `1 / sqrt(x)`
    Rsqrt,
    /// `x * x`
    Square,
    /// `1 / x`
    Reciprocal,
    /// Absolute value.
    Abs,
    /// `-x`
    Neg,
    /// -1, 0 or 1; NaN of NaN.
    Sign,
    /// The error function.
    Erf,
    /// Sine of radians.
    Sin,
    /// Cosine of radians.
    Cos,
    /// Tangent of radians.
    Tan,
    /// Its inverse: radians.
    Asin,
    /// Its inverse: radians.
    Acos,
    /// Its inverse: radians.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// The greatest whole number not above `x`.
    Floor,
    /// The least whole number not below `x`.
    Ceil,
    /// The nearest whole number, halves to the even one.
    Round,
    /// The whole number next to `x` in the direction of zero.
    Trunc,
    /// The nearest value that 16 bits hold.
    ToHalf,
    /// `min(max(round(x / scale), least), most) * scale`, halves rounded away from zero: what is left of a value that
    /// is stored as an 8-bit integer.
    FakeQuant {
        /// Distance of neighbouring values, above zero.
        scale: f32,
        /// Least multiple of it.
        least: i16,
        /// Greatest multiple of it.
        most: i16,
    },
    /// `x == 0`
    Not,
    /// `x != 0`
    NotZero,
    /// Whether `x` is no number.
    IsNan,
    /// Whether `x` is infinite.
    IsInf {
        /// Whether negative infinity counts.
        negative: bool,
        /// Whether positive infinity counts.
        positive: bool,
    },
}

impl Unary {
    /// The function's name as the TensorFlow Lite schema writes it, or as ONNX does where the schema has none.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Relu => "RELU",
            Self::Relu6 => "RELU6",
            Self::ReluN1To1 => "RELU_N1_TO_1",
            Self::LeakyRelu { .. } => "LEAKY_RELU",
            Self::Elu { .. } => "ELU",
            Self::Selu { .. } => "Selu",
            Self::Celu { .. } => "Celu",
            Self::ThresholdedRelu { .. } => "ThresholdedRelu",
            Self::HardSigmoid { .. } => "HardSigmoid",
            Self::Clip { .. } => "Clip",
            Self::HardSwish => "HARD_SWISH",
            Self::Logistic => "LOGISTIC",
            Self::Silu => "Swish",
            Self::Gelu | Self::GeluTanh => "GELU",
            Self::Softplus => "Softplus",
            Self::Softsign => "Softsign",
            Self::Mish => "Mish",
            Self::Shrink { .. } => "Shrink",
            Self::Exp => "EXP",
            Self::Log => "LOG",
            Self::Sqrt => "SQRT",
            Self::Rsqrt => "RSQRT",
            Self::Square => "SQUARE",
            Self::Reciprocal => "Reciprocal",
            Self::Abs => "ABS",
            Self::Neg => "NEG",
            Self::Sign => "SIGN",
            Self::Erf => "Erf",
            Self::Sin => "SIN",
            Self::Cos => "COS",
            Self::Tan => "Tan",
            Self::Asin => "Asin",
            Self::Acos => "Acos",
            Self::Atan => "Atan",
            Self::Sinh => "Sinh",
            Self::Cosh => "Cosh",
            Self::Tanh => "TANH",
            Self::Asinh => "Asinh",
            Self::Acosh => "Acosh",
            Self::Atanh => "Atanh",
            Self::Floor => "FLOOR",
            Self::Ceil => "CEIL",
            Self::Round => "ROUND",
            Self::FakeQuant { .. } => "FAKE_QUANT",
            Self::Trunc | Self::ToHalf | Self::NotZero => "CAST",
            Self::Not => "LOGICAL_NOT",
            Self::IsNan => "IsNaN",
            Self::IsInf { .. } => "IsInf",
        }
    }
}

/// Functions of two values, with broadcasting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// The greater.
    Maximum,
    /// The lesser.
    Minimum,
    /// `a^b`; 1 where `b` is 0, and no number where `a` is negative and `b` not whole.
    Pow,
    /// `a - b * floor(a / b)`: has the sign of `b`.
    Mod,
    /// `a - b * trunc(a / b)`: has the sign of `a`.
    Fmod,
    /// `floor(a / b)`
    FloorDiv,
    /// `trunc(a / b)`
    TruncDiv,
    /// `(a - b)^2`
    SquaredDifference,
    /// `a == b`
    Equal,
    /// `a != b`
    NotEqual,
    /// `a < b`
    Less,
    /// `a <= b`
    LessEqual,
    /// `a > b`
    Greater,
    /// `a >= b`
    GreaterEqual,
    /// Whether both are true.
    And,
    /// Whether one is true, or both.
    Or,
    /// Whether one is true, and not both.
    Xor,
    /// `a != 0 ? b : 0`
    ZeroUnless,
    /// `a != 0 ? 0 : b`
    ZeroIf,
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

    /// The function's name as the TensorFlow Lite schema writes it, or as ONNX does where the schema has none.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "ADD",
            Self::Sub => "SUB",
            Self::Mul => "MUL",
            Self::Div | Self::TruncDiv => "DIV",
            Self::Maximum => "MAXIMUM",
            Self::Minimum => "MINIMUM",
            Self::Pow => "POW",
            Self::Mod => "FLOOR_MOD",
            Self::Fmod => "Mod",
            Self::FloorDiv => "FLOOR_DIV",
            Self::SquaredDifference => "SQUARED_DIFFERENCE",
            Self::Equal => "EQUAL",
            Self::NotEqual => "NOT_EQUAL",
            Self::Less => "LESS",
            Self::LessEqual => "LESS_EQUAL",
            Self::Greater => "GREATER",
            Self::GreaterEqual => "GREATER_EQUAL",
            Self::And => "LOGICAL_AND",
            Self::Or => "LOGICAL_OR",
            Self::Xor => "Xor",
            Self::ZeroUnless | Self::ZeroIf => "SELECT_V2",
        }
    }
}
