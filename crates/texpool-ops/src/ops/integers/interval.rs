//! Interval arithmetic over a graph: bounds the values of each tensor, based on the bounds of inputs and constants.
//! Only precise where whole numbers need it; the results of functions that produce no whole numbers are treated as
//! unknown.

use std::{
    cell::{OnceCell, RefCell},
    collections::BTreeMap,
};

use crate::graph::{
    Act, Binary, DynamicQuantize, Epilogue, Graph, IdVec, Node, Op, PoolKind, ReduceKind, ResizeMode, SegmentKind,
    Shape, TensorId, Unary,
};

/// Bounds on the values of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) least: f64,
    pub(super) greatest: f64,
    /// True if all values are whole numbers.
    pub(super) whole: bool,
}

impl Interval {
    /// The interval of a tensor with unknown values.
    pub(super) const ANY: Self = Self { least: f64::NEG_INFINITY, greatest: f64::INFINITY, whole: false };

    pub(super) const fn whole(least: f64, greatest: f64) -> Self {
        Self { least, greatest, whole: true }
    }

    /// Returns the largest absolute value.
    pub(super) const fn magnitude(self) -> f64 {
        self.least.abs().max(self.greatest.abs())
    }

    /// Returns the smallest interval that contains both.
    fn hull(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
            whole: self.whole && other.whole,
        }
    }

    fn map(self, increasing: impl Fn(f64) -> f64) -> Self {
        Self { least: increasing(self.least), greatest: increasing(self.greatest), ..self }
    }

    fn negated(self) -> Self {
        Self { least: -self.greatest, greatest: -self.least, ..self }
    }

    fn absolute(self) -> Self {
        let least =
            if self.least > 0.0 || self.greatest < 0.0 { self.least.abs().min(self.greatest.abs()) } else { 0.0 };
        Self { least, greatest: self.magnitude(), ..self }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            least: self.least + other.least,
            greatest: self.greatest + other.greatest,
            whole: self.whole && other.whole,
        }
    }

    fn times(self, other: Self) -> Self {
        let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let corners = [
            product(self.least, other.least),
            product(self.least, other.greatest),
            product(self.greatest, other.least),
            product(self.greatest, other.greatest),
        ];
        Self {
            least: corners.into_iter().fold(f64::INFINITY, f64::min),
            greatest: corners.into_iter().fold(f64::NEG_INFINITY, f64::max),
            whole: self.whole && other.whole,
        }
    }

    fn squared(self) -> Self {
        self.absolute().map(|x| x * x)
    }

    /// Returns the interval of sums of up to `count` such values, including the empty sum.
    fn sums(self, count: usize) -> Self {
        let zero = Self { whole: self.whole, ..Self::whole(0.0, 0.0) };
        self.hull(zero).map(|x| if x == 0.0 { 0.0 } else { x * count as f64 })
    }

    /// Returns `self` to the power of whole numbers, which devices compute by multiplication ([`Binary::Pow`]).
    fn power(self, exponent: Self) -> Self {
        if !exponent.whole || exponent.least < 0.0 || exponent.greatest > 16.0 {
            return Self::ANY;
        }
        let most = self.magnitude().max(1.0).powf(exponent.greatest);
        Self { least: if self.least < 0.0 { -most } else { 0.0 }, greatest: most, whole: self.whole }
    }
}

/// Intervals of a graph's tensors.
pub(super) struct Intervals<'g> {
    graph: &'g Graph,
    /// The node that computes each tensor.
    producers: IdVec<TensorId, Option<&'g Node>>,
    /// Intervals of constants, computed on first use.
    constants: IdVec<TensorId, OnceCell<Interval>>,
    /// Largest sums of magnitudes of constants, computed on first use. Nodes that share a constant may add other terms.
    most: RefCell<BTreeMap<(TensorId, Terms), f64>>,
}

/// The elements of a constant that a result of a product multiplies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Terms {
    /// A number of consecutive elements.
    Consecutive(usize),
    /// Elements at a distance from each other.
    Apart(usize),
}

impl<'g> Intervals<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        let mut producers = IdVec::from_elem(None, &graph.tensors);
        graph.nodes.iter().for_each(|node| producers[node.output] = Some(node));
        let constants = graph.tensors.iter().map(|_| OnceCell::new()).collect();
        Self { graph, producers, constants, most: RefCell::default() }
    }

    /// Returns the interval of a tensor; `known` holds the intervals of computed tensors.
    pub(super) fn of(&self, id: TensorId, known: &IdVec<TensorId, Interval>) -> Interval {
        if self.graph.is_constant(id) { self.constant(id) } else { known[id] }
    }

    /// Returns the interval of a constant.
    fn constant(&self, id: TensorId) -> Interval {
        let Some(constant) = &self.graph.tensors[id].constant else { return Interval::ANY };
        *self.constants[id].get_or_init(|| {
            let reals = constant.reals();
            let count = if constant.repeats().is_some() { 1 } else { constant.len() };
            let none = Interval::whole(f64::INFINITY, f64::NEG_INFINITY);
            (0..count).map(|i| f64::from(reals.get(i))).fold(none, |all, value| {
                // Comparisons with NaN are false, so NaN would get lost in `hull`.
                if value.is_nan() {
                    Interval::ANY
                } else {
                    all.hull(Interval { whole: value.fract() == 0.0, ..Interval::whole(value, value) })
                }
            })
        })
    }

    /// Returns the largest sum of the magnitudes of a constant's elements that one result of a product multiplies. No
    /// sum of some of their products with values of `x` exceeds it times the magnitude of `x`, in whatever order they
    /// are added. Infinite for tensors that are computed.
    fn most(&self, id: TensorId, terms: Terms) -> f64 {
        let Some(constant) = &self.graph.tensors[id].constant else { return f64::INFINITY };
        *self.most.borrow_mut().entry((id, terms)).or_insert_with(|| {
            let results = match terms {
                Terms::Consecutive(depth) => constant.len() / depth.max(1),
                Terms::Apart(distance) => distance,
            };
            let reals = constant.reals();
            let magnitude = |i: usize| f64::from(reals.get(i)).abs();
            let sum = |result: usize| -> f64 {
                match terms {
                    Terms::Consecutive(depth) => (result * depth..(result + 1) * depth).map(magnitude).sum(),
                    Terms::Apart(distance) => (result..constant.len()).step_by(distance).map(magnitude).sum(),
                }
            };
            // Unlike `max`, a comparison keeps NaN.
            (0..results).map(sum).fold(0.0, |most, sum| if sum <= most || most.is_nan() { most } else { sum })
        })
    }

    /// Returns the interval of sums of `count` products of values of `x` with `weights`.
    fn product(&self, [x, by]: [Interval; 2], weights: TensorId, terms: Terms, count: usize) -> Interval {
        let all = x.times(by).sums(count);
        let most = x.magnitude() * self.most(weights, terms);
        match most.is_nan() {
            true => all,
            false => Interval { least: all.least.max(-most), greatest: all.greatest.min(most), ..all },
        }
    }

    /// Returns the interval of a node's values after its epilogue.
    pub(super) fn after_epilogue(&self, node: &Node, result: Interval, known: &IdVec<TensorId, Interval>) -> Interval {
        let Epilogue { first, add, then } = node.epilogue;
        let activated = |act, x: Interval| match act {
            Act::Plus(shift) => x.plus(self.of(shift, known)),
            Act::Times(scale) => x.times(self.of(scale, known)),
            act => activated(act, x),
        };
        let first = activated(first, result);
        activated(then, add.map_or(first, |id| first.plus(self.of(id, known))))
    }

    /// Returns the interval of a node's result without its epilogue; `known` holds the intervals of computed tensors.
    pub(super) fn result(&self, node: &Node, known: &IdVec<TensorId, Interval>) -> Interval {
        let of = |id: TensorId| self.of(id, known);
        let x = |position: usize| node.inputs.get(position).map_or(Interval::ANY, |&id| of(id));
        let shape = |position: usize| node.inputs.get(position).map(|&id| self.graph.shape(id));
        match &node.op {
            Op::Unary(unary) => function(*unary, x(0)),
            Op::Binary(binary) => match binary {
                Binary::Add => self.chosen(node, of).unwrap_or_else(|| x(0).plus(x(1))),
                Binary::Sub => x(0).plus(x(1).negated()),
                Binary::Mul => x(0).times(x(1)),
                Binary::Maximum => Interval {
                    least: x(0).least.max(x(1).least),
                    greatest: x(0).greatest.max(x(1).greatest),
                    whole: x(0).whole && x(1).whole,
                },
                Binary::Minimum => Interval {
                    least: x(0).least.min(x(1).least),
                    greatest: x(0).greatest.min(x(1).greatest),
                    whole: x(0).whole && x(1).whole,
                },
                Binary::Pow => x(0).power(x(1)),
                Binary::Mod | Binary::Fmod => remainder(*binary, x(0), x(1)),
                Binary::FloorDiv | Binary::TruncDiv if x(0).whole && x(1).whole => quotient(x(0), x(1)),
                Binary::SquaredDifference => x(0).plus(x(1).negated()).squared(),
                Binary::ZeroUnless | Binary::ZeroIf => x(1).sums(1),
                binary if binary.is_truth() => Interval::whole(0.0, 1.0),
                _ => Interval::ANY,
            },
            Op::DynamicQuantize(DynamicQuantize { from_zero: true }) => Interval::whole(-255.0, 255.0),
            Op::DynamicQuantize(_) => Interval::whole(0.0, 255.0),
            Op::QuantizedAdd(add) => Interval::whole(add.least.into(), add.most.into()),
            Op::Reduce(reduce) => {
                let Some(extents) = shape(0) else { return Interval::ANY };
                let counted = extents.dims().into_iter().zip(reduce.axes).filter(|(_, reduced)| *reduced);
                let count: usize = counted.map(|(extent, _)| extent).product();
                match reduce.kind {
                    ReduceKind::Sum => x(0).sums(count),
                    ReduceKind::SumSquare => x(0).squared().sums(count),
                    ReduceKind::L1 => x(0).absolute().sums(count),
                    ReduceKind::Max | ReduceKind::Min => x(0),
                    ReduceKind::Prod => {
                        let most = x(0).magnitude().max(1.0).powf(count as f64);
                        Interval { least: -most, greatest: most, whole: x(0).whole }
                    }
                    ReduceKind::ArgMax { .. } | ReduceKind::ArgMin { .. } => Interval::whole(0.0, count as f64),
                    ReduceKind::Mean | ReduceKind::L2 | ReduceKind::LogSum | ReduceKind::LogSumExp => Interval::ANY,
                }
            }
            Op::SegmentReduce(reduce) => {
                let count = shape(0).map_or(usize::MAX, |shape| shape.w);
                match reduce.kind {
                    SegmentKind::Sum => x(0).sums(count),
                    // A segment without pixels is infinite.
                    SegmentKind::Prod | SegmentKind::Max | SegmentKind::Min => Interval::ANY,
                }
            }
            Op::CumSum(sum) => shape(0).map_or(Interval::ANY, |shape| x(0).sums(shape.dims()[sum.axis])),
            Op::MatMul(_) => shape(0).map_or(Interval::ANY, |shape| x(0).times(x(1)).sums(shape.c)),
            Op::FullyConnected | Op::Conv2d(_) | Op::DepthwiseConv2d(_) => {
                let &[_, weights, ..] = node.inputs.as_slice() else { return Interval::ANY };
                let Shape { b, h, w, c } = self.graph.shape(weights);
                let (terms, count) = match &node.op {
                    Op::DepthwiseConv2d(_) => (Terms::Apart(c), b * h * w),
                    Op::Conv2d(_) => (Terms::Consecutive(h * w * c), h * w * c),
                    _ => (Terms::Consecutive(c), c),
                };
                let product = self.product([x(0), x(1)], weights, terms, count);
                if node.inputs.len() > 2 { product.plus(x(2)) } else { product }
            }
            Op::TopK(top) if top.indices => {
                shape(0).map_or(Interval::ANY, |shape| Interval::whole(0.0, shape.c as f64))
            }
            Op::TopK(_) => x(0),
            Op::Locate => Interval::whole(0.0, self.graph.shape(node.output).c as f64),
            Op::Pool2d(pool) if pool.kind == PoolKind::Max => x(0),
            Op::Resize(resize) if resize.mode == ResizeMode::LinearInteger => x(0),
            // The second operand only selects values.
            Op::Gather(_) | Op::GatherElements(_) => x(0),
            // The border is zero, or the second operand.
            Op::Pad(_) => (1..node.inputs.len()).map(x).fold(x(0), Interval::hull).sums(1),
            op if op.moves_only() => (1..node.inputs.len()).map(x).fold(x(0), Interval::hull),
            _ => Interval::ANY,
        }
    }

    /// Returns the interval of a `Where`, which is the sum of two tensors that are masked by opposite conditions.
    /// `None` for other sums.
    fn chosen(&self, node: &Node, of: impl Fn(TensorId) -> Interval) -> Option<Interval> {
        let &[a, b] = node.inputs.as_slice() else { return None };
        let [a, b] = [self.producers[a]?, self.producers[b]?];
        let opposite = match [&a.op, &b.op] {
            [Op::Binary(Binary::ZeroUnless), Op::Binary(Binary::ZeroIf)]
            | [Op::Binary(Binary::ZeroIf), Op::Binary(Binary::ZeroUnless)] => a.inputs[0] == b.inputs[0],
            _ => false,
        };
        opposite.then(|| of(a.inputs[1]).hull(of(b.inputs[1])))
    }

    /// Returns whether each result value is one of the operands' values, possibly negated, or one of a few constants.
    /// Such a result is exact for values of any magnitude.
    pub(super) fn selects(&self, node: &Node) -> bool {
        match &node.op {
            Op::Unary(unary) => matches!(
                unary,
                Unary::Relu
                    | Unary::Relu6
                    | Unary::ReluN1To1
                    | Unary::Clip { .. }
                    | Unary::Sign
                    | Unary::Not
                    | Unary::NotZero
                    | Unary::Abs
                    | Unary::Neg
                    | Unary::Trunc
                    | Unary::Floor
                    | Unary::Ceil
                    | Unary::Round
            ),
            Op::Binary(Binary::Add) => self.chosen(node, |_| Interval::ANY).is_some(),
            Op::Binary(binary) => !matches!(
                binary,
                Binary::Sub
                    | Binary::Mul
                    | Binary::Div
                    | Binary::Pow
                    | Binary::Mod
                    | Binary::Fmod
                    | Binary::FloorDiv
                    | Binary::TruncDiv
                    | Binary::SquaredDifference
            ),
            Op::Reduce(reduce) => matches!(
                reduce.kind,
                ReduceKind::Max | ReduceKind::Min | ReduceKind::ArgMax { .. } | ReduceKind::ArgMin { .. }
            ),
            Op::Pool2d(pool) => pool.kind == PoolKind::Max,
            Op::TopK(_) => true,
            op => op.moves_only(),
        }
    }
}

/// Returns the interval of an activation.
fn activated(act: Act, x: Interval) -> Interval {
    match act {
        Act::None => x,
        Act::Unary(unary) => function(unary, x),
        Act::Requantize(requantize) => Interval::whole(requantize.least.into(), requantize.most.into()),
        Act::Prelu(_) | Act::Plus(_) | Act::Times(_) | Act::DividedBy(_) => Interval::ANY,
    }
}

/// Returns the interval of a function of one value.
fn function(unary: Unary, x: Interval) -> Interval {
    let clipped = |least: f64, greatest: f64| Interval {
        whole: x.whole && [least, greatest].iter().all(|bound| bound.fract() == 0.0 || bound.is_infinite()),
        ..x.map(|x| x.max(least).min(greatest))
    };
    match unary {
        Unary::Relu => clipped(0.0, f64::INFINITY),
        Unary::Relu6 => clipped(0.0, 6.0),
        Unary::ReluN1To1 => clipped(-1.0, 1.0),
        Unary::Clip { min, max } => clipped(min.into(), max.into()),
        Unary::Abs => x.absolute(),
        Unary::Neg => x.negated(),
        Unary::Square => x.squared(),
        Unary::Sign => Interval { whole: true, ..x.map(|x| x.clamp(-1.0, 1.0)) },
        Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc => {
            let outward = Interval { least: x.least.floor(), greatest: x.greatest.ceil(), whole: true };
            if x.whole { x } else { outward }
        }
        Unary::Quantize { least, most, .. }
        | Unary::QuantizeEven { least, most, .. }
        | Unary::RoundAway { least, most, .. } => Interval::whole(least.into(), most.into()),
        Unary::QuantizeByte { zero, least, .. } | Unary::RequantizeByte { zero, least, .. } => {
            let least = f64::from(least) - f64::from(zero);
            Interval::whole(least, least + f64::from(u8::MAX))
        }
        Unary::Not | Unary::NotZero | Unary::IsNan | Unary::IsInf { .. } => Interval::whole(0.0, 1.0),
        Unary::Logistic | Unary::HardSigmoid { .. } => Interval { least: 0.0, greatest: 1.0, whole: false },
        Unary::Tanh | Unary::Erf | Unary::Sin | Unary::Cos => Interval { least: -1.0, greatest: 1.0, whole: false },
        _ => Interval::ANY,
    }
}

/// Returns the interval of a division of whole numbers: the magnitude never grows.
fn quotient(x: Interval, by: Interval) -> Interval {
    if x.least >= 0.0 && by.least >= 0.0 { Interval { least: 0.0, ..x } } else { x.hull(x.negated()) }
}

/// Returns the interval of the remainder of a division of whole numbers, which is at most `divisor - 1` in magnitude.
/// With fractions the remainder can exceed that, so the result is unknown.
fn remainder(binary: Binary, x: Interval, by: Interval) -> Interval {
    if !x.whole || !by.whole {
        return Interval::ANY;
    }
    let below = (by.magnitude() - 1.0).max(0.0);
    let signed = match binary {
        Binary::Mod => by,
        _ => x,
    };
    Interval::whole(if signed.least < 0.0 { -below } else { 0.0 }, if signed.greatest > 0.0 { below } else { 0.0 })
}
