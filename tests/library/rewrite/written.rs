//! Functions in the node-by-node form that exporters write, and the rule that recognises each.

use texpool_ops::graph::{Act, Binary, Graph, Op, Reduce, ReduceKind, TensorId, Unary};

use super::support::Net;
use Binary::{Add, Div, Maximum, Minimum, Mul, Pow, SquaredDifference, Sub};

/// Axes of one statistic: channels, or height and width.
const CHANNELS: [bool; 4] = [false, false, false, true];
const IMAGE: [bool; 4] = [false, true, true, false];

/// A writer of functions on the tensor `x`.
pub(crate) struct Pen<'a> {
    net: &'a mut Net,
    pub(crate) x: TensorId,
    /// Factor for all numbers.
    off: f32,
    /// An intermediate tensor.
    pub(crate) inner: Option<TensorId>,
}

impl Pen<'_> {
    fn number(&mut self, value: f32) -> TensorId {
        self.net.constant(&[1], &[value * self.off])
    }

    fn with(&mut self, binary: Binary, a: TensorId, value: f32) -> TensorId {
        let number = self.number(value);
        self.two(binary, a, number)
    }

    fn from(&mut self, value: f32, binary: Binary, b: TensorId) -> TensorId {
        let number = self.number(value);
        self.two(binary, number, b)
    }

    fn two(&mut self, binary: Binary, a: TensorId, b: TensorId) -> TensorId {
        let result = self.net.binary(binary, a, b);
        self.inner.get_or_insert(result);
        result
    }

    fn one(&mut self, unary: Unary, x: TensorId) -> TensorId {
        let result = self.net.unary(unary, x);
        self.inner.get_or_insert(result);
        result
    }

    fn over(&mut self, kind: ReduceKind, axes: [bool; 4], x: TensorId) -> TensorId {
        let result = self.net.node(Op::Reduce(Reduce { kind, axes }), &[x]);
        self.inner.get_or_insert(result);
        result
    }

    /// Repeated to the extents of `x`.
    fn repeated(&mut self, x: TensorId) -> TensorId {
        let dims = self.net.shape(self.x).dims();
        self.net.node_to(Op::Tile, &[x], &dims, Act::None)
    }

    fn squared_mean(&mut self, square: Unary, axes: [bool; 4], x: TensorId) -> TensorId {
        let squared = self.one(square, x);
        self.over(ReduceKind::Mean, axes, squared)
    }
}

type Write = fn(&mut Pen) -> TensorId;

/// Name of the function, the rule that recognises it, whether it has a number that could differ, and the nodes.
pub(crate) type Written = (&'static str, &'static str, bool, Write);

const ROOT_2: f32 = std::f32::consts::SQRT_2;
const TANH_FACTOR: f32 = 0.797_884_6;

pub(crate) const ALL: [Written; 44] = [
    ("RELU", "bounds", false, |p| p.with(Maximum, p.x, 0.0)),
    ("RELU6", "bounds", false, |p| {
        let y = p.with(Maximum, p.x, 0.0);
        p.from(6.0, Minimum, y)
    }),
    ("RELU_N1_TO_1", "bounds", false, |p| {
        let y = p.with(Minimum, p.x, 1.0);
        p.with(Maximum, y, -1.0)
    }),
    ("Clip", "bounds", false, |p| {
        let y = p.one(Unary::Clip { min: -1.5, max: 0.5 }, p.x);
        p.one(Unary::Clip { min: -0.5, max: 1.5 }, y)
    }),
    ("SQUARE", "power", false, |p| p.two(Mul, p.x, p.x)),
    ("SQUARE", "power", true, |p| p.with(Pow, p.x, 2.0)),
    ("SQRT", "power", true, |p| p.with(Pow, p.x, 0.5)),
    ("HARD_SWISH", "hard-activation", true, |p| {
        let y = p.with(Add, p.x, 3.0);
        let y = p.one(Unary::Relu6, y);
        let y = p.two(Mul, p.x, y);
        p.with(Div, y, 6.0)
    }),
    ("HARD_SWISH", "hard-activation", true, |p| {
        let y = p.from(3.0, Add, p.x);
        let y = p.one(Unary::Clip { min: 0.0, max: 6.0 }, y);
        let y = p.with(Mul, y, 1.0 / 6.0);
        p.two(Mul, y, p.x)
    }),
    ("HARD_SWISH", "hard-activation", true, |p| {
        let scaled = p.with(Div, p.x, 6.0);
        let y = p.with(Sub, p.x, -3.0);
        let y = p.one(Unary::Relu6, y);
        p.two(Mul, scaled, y)
    }),
    ("HARD_SWISH", "hard-activation", true, |p| {
        let y = p.one(Unary::HardSigmoid { alpha: 0.166_666_7 * p.off, beta: 0.5 }, p.x);
        p.two(Mul, p.x, y)
    }),
    ("HardSigmoid", "hard-activation", false, |p| {
        let y = p.with(Add, p.x, 3.0);
        let y = p.one(Unary::Relu6, y);
        p.with(Div, y, 6.0)
    }),
    ("HardSigmoid", "hard-activation", false, |p| {
        let y = p.with(Mul, p.x, 0.2);
        let y = p.with(Add, y, 0.5);
        p.one(Unary::Clip { min: 0.0, max: 1.0 }, y)
    }),
    ("Swish", "gated-activation", false, |p| {
        let y = p.one(Unary::Logistic, p.x);
        p.two(Mul, p.x, y)
    }),
    ("Mish", "gated-activation", false, |p| {
        let y = p.one(Unary::Softplus, p.x);
        let y = p.one(Unary::Tanh, y);
        p.two(Mul, y, p.x)
    }),
    ("Mish", "gated-activation", false, |p| {
        let y = p.one(Unary::Exp, p.x);
        let y = p.with(Add, y, 1.0);
        let y = p.one(Unary::Log, y);
        let y = p.one(Unary::Tanh, y);
        p.two(Mul, p.x, y)
    }),
    ("GELU", "gelu", true, |p| {
        let y = p.with(Div, p.x, ROOT_2);
        let y = p.one(Unary::Erf, y);
        let y = p.with(Add, y, 1.0);
        let y = p.two(Mul, p.x, y);
        p.with(Mul, y, 0.5)
    }),
    ("GELU", "gelu", true, |p| {
        let y = p.with(Mul, p.x, 1.0 / ROOT_2);
        let y = p.one(Unary::Erf, y);
        let y = p.from(1.0, Add, y);
        let half = p.from(0.5, Mul, p.x);
        p.two(Mul, half, y)
    }),
    ("GELU", "gelu", true, |p| {
        let y = p.with(Div, p.x, ROOT_2);
        let y = p.one(Unary::Erf, y);
        let y = p.with(Add, y, 1.0);
        let y = p.with(Mul, y, 0.5);
        p.two(Mul, y, p.x)
    }),
    ("GELU", "gelu", true, |p| {
        let y = p.with(Pow, p.x, 3.0 / p.off);
        let y = p.from(0.044715, Mul, y);
        let y = p.two(Add, p.x, y);
        let y = p.with(Mul, y, TANH_FACTOR);
        let y = p.one(Unary::Tanh, y);
        let y = p.with(Add, y, 1.0);
        let half = p.with(Mul, p.x, 0.5);
        p.two(Mul, half, y)
    }),
    ("GELU", "gelu", true, |p| {
        let y = p.two(Mul, p.x, p.x);
        let y = p.with(Mul, y, 0.044715);
        let y = p.with(Add, y, 1.0 / p.off);
        let factor = p.with(Mul, p.x, TANH_FACTOR);
        let y = p.two(Mul, factor, y);
        let y = p.one(Unary::Tanh, y);
        let y = p.with(Add, y, 1.0);
        let y = p.two(Mul, p.x, y);
        p.with(Mul, y, 0.5)
    }),
    ("MeanVarianceNormalization", "normalization", false, |p| {
        let mean = p.over(ReduceKind::Mean, CHANNELS, p.x);
        let y = p.two(Sub, p.x, mean);
        let square = p.with(Pow, y, 2.0 / p.off);
        let variance = p.over(ReduceKind::Mean, CHANNELS, square);
        let root = p.with(Add, variance, 1e-2);
        let root = p.one(Unary::Sqrt, root);
        p.two(Div, y, root)
    }),
    ("MeanVarianceNormalization", "normalization", false, |p| {
        let mean = p.over(ReduceKind::Mean, CHANNELS, p.x);
        let y = p.two(Sub, p.x, mean);
        let again = p.two(Sub, p.x, mean);
        let square = p.two(Mul, again, again);
        let variance = p.over(ReduceKind::Mean, CHANNELS, square);
        let root = p.with(Add, variance, 1e-2);
        let root = p.one(Unary::Sqrt, root);
        let root = p.one(Unary::Reciprocal, root);
        p.two(Mul, root, y)
    }),
    ("MeanVarianceNormalization", "normalization", false, |p| {
        let mean = p.over(ReduceKind::Mean, IMAGE, p.x);
        let difference = p.two(SquaredDifference, p.x, mean);
        let variance = p.over(ReduceKind::Mean, IMAGE, difference);
        let root = p.with(Add, variance, 1e-2);
        let root = p.one(Unary::Rsqrt, root);
        let y = p.two(Sub, p.x, mean);
        p.two(Mul, y, root)
    }),
    ("MeanVarianceNormalization", "normalization", false, |p| {
        let rows = p.over(ReduceKind::Mean, [false, false, true, false], p.x);
        let mean = p.over(ReduceKind::Mean, [false, true, false, false], rows);
        let y = p.two(Sub, p.x, mean);
        let variance = p.squared_mean(Unary::Square, IMAGE, y);
        let root = p.with(Add, variance, 1e-2);
        let root = p.one(Unary::Sqrt, root);
        p.two(Div, y, root)
    }),
    // Uses the deviation of a sample, and an epsilon outside the root.
    ("MeanVarianceNormalization", "normalization", false, |p| {
        let mean = p.over(ReduceKind::Mean, CHANNELS, p.x);
        let y = p.two(Sub, p.x, mean);
        let variance = p.squared_mean(Unary::Square, CHANNELS, y);
        let variance = p.with(Mul, variance, 6.0 / 5.0);
        let root = p.one(Unary::Sqrt, variance);
        let root = p.with(Add, root, 1e-2);
        p.two(Div, y, root)
    }),
    ("RMSNormalization", "normalization", false, |p| {
        let square = p.two(Mul, p.x, p.x);
        let mean = p.over(ReduceKind::Mean, CHANNELS, square);
        let sum = p.with(Add, mean, 1e-2);
        let root = p.one(Unary::Sqrt, sum);
        p.two(Div, p.x, root)
    }),
    ("RMSNormalization", "normalization", false, |p| {
        let square = p.with(Pow, p.x, 2.0 / p.off);
        let mean = p.over(ReduceKind::Mean, CHANNELS, square);
        let sum = p.from(1e-2, Add, mean);
        let root = p.one(Unary::Rsqrt, sum);
        p.two(Mul, root, p.x)
    }),
    ("RMSNormalization", "normalization", false, |p| {
        let mean = p.squared_mean(Unary::Square, IMAGE, p.x);
        let sum = p.with(Add, mean, 1e-2);
        let root = p.one(Unary::Sqrt, sum);
        let inverse = p.one(Unary::Reciprocal, root);
        p.two(Mul, p.x, inverse)
    }),
    ("RMSNormalization", "normalization", false, |p| {
        let mean = p.squared_mean(Unary::Square, CHANNELS, p.x);
        let sum = p.with(Add, mean, 1e-2);
        let inverse = p.with(Pow, sum, -0.5 / p.off);
        p.two(Mul, p.x, inverse)
    }),
    ("RMSNormalization", "normalization", false, |p| {
        let mean = p.squared_mean(Unary::Square, CHANNELS, p.x);
        let sum = p.with(Add, mean, 1e-2);
        let root = p.one(Unary::Sqrt, sum);
        let inverse = p.from(1.0 / p.off, Div, root);
        p.two(Mul, p.x, inverse)
    }),
    // The sum divided by the number of elements.
    ("L2_NORMALIZATION", "normalization", false, |p| {
        let square = p.one(Unary::Square, p.x);
        let sum = p.over(ReduceKind::Sum, CHANNELS, square);
        let mean = p.with(Div, sum, 6.0);
        let sum = p.with(Add, mean, 1e-2);
        let root = p.one(Unary::Sqrt, sum);
        p.two(Div, p.x, root)
    }),
    ("L2_NORMALIZATION", "normalization", false, |p| {
        let norm = p.over(ReduceKind::L2, CHANNELS, p.x);
        let least = p.with(Maximum, norm, 1e-12);
        p.two(Div, p.x, least)
    }),
    ("L2_NORMALIZATION", "normalization", false, |p| {
        let sum = p.over(ReduceKind::SumSquare, CHANNELS, p.x);
        let least = p.with(Maximum, sum, 1e-12);
        let root = p.one(Unary::Rsqrt, least);
        p.two(Mul, p.x, root)
    }),
    ("L2_NORMALIZATION", "normalization", false, |p| {
        let size = p.one(Unary::Abs, p.x);
        let square = p.with(Pow, size, 2.0 / p.off);
        let sum = p.over(ReduceKind::Sum, CHANNELS, square);
        let norm = p.with(Pow, sum, 0.5 / p.off);
        let least = p.one(Unary::Clip { min: 1e-12, max: f32::MAX }, norm);
        p.two(Div, p.x, least)
    }),
    ("L2_NORMALIZATION", "normalization", false, |p| {
        let norm = p.over(ReduceKind::L2, CHANNELS, p.x);
        let norm = p.with(Add, norm, 1e-2);
        p.two(Div, p.x, norm)
    }),
    // Scaled to the root of the mean, then bounded.
    ("L2_NORMALIZATION", "normalization", false, |p| {
        let norm = p.over(ReduceKind::L2, CHANNELS, p.x);
        let norm = p.with(Mul, norm, 0.408_248_3);
        let least = p.one(Unary::Clip { min: 1e-8, max: f32::INFINITY }, norm);
        p.two(Div, p.x, least)
    }),
    ("L2_NORMALIZATION", "normalization", false, |p| {
        let norm = p.over(ReduceKind::L2, CHANNELS, p.x);
        let least = p.one(Unary::Clip { min: 1e-12, max: f32::INFINITY }, norm);
        let wide = p.repeated(least);
        p.two(Div, p.x, wide)
    }),
    ("SOFTMAX", "softmax", false, |p| {
        let greatest = p.over(ReduceKind::Max, CHANNELS, p.x);
        let y = p.two(Sub, p.x, greatest);
        let y = p.one(Unary::Exp, y);
        let sum = p.over(ReduceKind::Sum, CHANNELS, y);
        p.two(Div, y, sum)
    }),
    ("SOFTMAX", "softmax-unshifted", false, |p| {
        let y = p.one(Unary::Exp, p.x);
        let sum = p.over(ReduceKind::Sum, CHANNELS, y);
        p.two(Div, y, sum)
    }),
    ("LOG_SOFTMAX", "softmax", false, |p| {
        let greatest = p.over(ReduceKind::Max, CHANNELS, p.x);
        let y = p.two(Sub, p.x, greatest);
        let power = p.one(Unary::Exp, y);
        let sum = p.over(ReduceKind::Sum, CHANNELS, power);
        let log = p.one(Unary::Log, sum);
        p.two(Sub, y, log)
    }),
    ("LOG_SOFTMAX", "softmax-unshifted", false, |p| {
        let power = p.one(Unary::Exp, p.x);
        let log = p.over(ReduceKind::LogSum, CHANNELS, power);
        p.two(Sub, p.x, log)
    }),
    ("LOG_SOFTMAX", "softmax", false, |p| {
        let log = p.over(ReduceKind::LogSumExp, CHANNELS, p.x);
        p.two(Sub, p.x, log)
    }),
    ("MUL", "exact-division", false, |p| p.with(Div, p.x, -8.0)),
];

/// Writes a function of `x`; returns its result and an intermediate tensor.
pub(crate) fn write(net: &mut Net, x: TensorId, which: usize, off: f32) -> (TensorId, TensorId) {
    let mut pen = Pen { net, x, off, inner: None };
    let result = ALL[which].3(&mut pen);
    let inner = pen.inner.unwrap_or(result);
    (result, inner)
}

/// Builds a graph that only computes a function of its input.
pub(crate) fn alone(which: usize, off: f32) -> Graph {
    let mut net = Net::default();
    let x = net.input(&[2, 4, 3, 6]);
    let (result, _) = write(&mut net, x, which, off);
    net.finish(&[result])
}

/// Builds the graph of a function whose intermediate tensor is also an output, or is `read` by another node. Returns
/// `None` if the function has no intermediate tensor.
pub(crate) fn watched(which: usize, read: bool) -> Option<Graph> {
    let mut net = Net::default();
    let x = net.input(&[2, 4, 3, 6]);
    let (result, inner) = write(&mut net, x, which, 1.0);
    if inner == result {
        return None;
    }
    let second = if read { net.unary(Unary::Abs, inner) } else { inner };
    Some(net.finish(&[result, second]))
}
