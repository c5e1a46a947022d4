//! Recognises normalization by a variance, a mean square or a norm that is written out as several nodes.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    pattern_match::{PatternMatch, between, recognised},
    rule::{Order, Rule},
    skip_reason::SkipReason,
    term::{Term, ValueRef},
};
use texpool_ops::graph::{Binary, Node, NodeId, Normalize, Op, ReduceKind, Statistic, Tensor, Unary};

pub(super) const RULE: Rule = Rule {
    name: "normalization",
    about: "recognises layer, instance, RMS and L2 normalization before their scale: a value, or its distance from \
            the mean, divided by the root of a mean or sum of squares, with a number added or a lower bound",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

/// Maximum number of operations on the statistic and on its root that are considered. No exporter writes that many.
const MAX_DEPTH: usize = 8;

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    match recognised(ctx, id, find_match)? {
        Some(edit) => Ok(Some(edit)),
        None => scaled(ctx, id),
    }
}

/// Matches `x * (inverse * weights)`, a form that saves one multiplication of the full tensor. The product of inverse
/// and weights becomes the normalization, and the product with `x` becomes the product with the weights.
fn scaled(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let Term::Binary(Binary::Mul, a, b) = ctx.term(ctx.without_epilogue(id)) else { return Ok(None) };
    for (x, factor) in [(a, b), (b, a)] {
        let (Term::Binary(Binary::Mul, c, d), Some(place)) = (ctx.term(factor), ctx.producer(factor.tensor)) else {
            continue;
        };
        let op_and_weights = [(c, d), (d, c)].into_iter().find_map(|(root, weights)| {
            let op = normalization(ctx, x, inverse(ctx, root)?)?;
            // Only for a normalization of `x` itself. If the mean of `x` is subtracted, other nodes add it again.
            (op.1 == x && ctx.graph.is_constant(weights.tensor)).then_some((op.0, weights.tensor))
        });
        let Some((op, weights)) = op_and_weights else { continue };
        let is_stored = ctx.value(x.tensor) == x && ctx.node(place).epilogue.is_empty();
        if !is_stored || ctx.graph.is_constant(x.tensor) {
            continue;
        }
        ctx.check_one_use(factor.tensor)?;
        let shape = ctx.graph.shape(x.tensor);
        let node = ctx.node(id);
        if ctx.graph.shape(node.output) != shape {
            return Err(SkipReason::ShapeMismatch { tensor: ctx.name(x.tensor) });
        }
        let between = between(ctx, place, x.tensor)?;
        let mut edit = Edit::default();
        let output = edit.add(&ctx.graph, Tensor::new(ctx.name(factor.tensor), shape));
        let normalized = Node { op: Op::Normalize(op), inputs: vec![x.tensor], output, ..ctx.node(place).clone() };
        let product = Node { inputs: vec![output, weights], ..node.clone() };
        let edit = edit.replace(place, normalized).replace(id, product);
        return Ok(Some(between.into_iter().fold(edit, Edit::remove)));
    }
    Ok(None)
}

fn find_match(ctx: &RewriteContext, whole: ValueRef) -> Option<PatternMatch> {
    let (dividend, root) = match ctx.term(whole) {
        Term::Binary(Binary::Div, dividend, root) => (dividend, divisor(ctx, root)?),
        Term::Binary(Binary::Mul, a, b) => match inverse(ctx, b) {
            Some(root) => (a, root),
            None => (b, inverse(ctx, a)?),
        },
        _ => return None,
    };
    let (op, x) = normalization(ctx, dividend, root)?;
    Some(PatternMatch::new(Op::Normalize(op), x, &[]))
}

/// Returns the normalization that divides `dividend` by such a root, and its operand.
fn normalization(ctx: &RewriteContext, dividend: ValueRef, root: Measured) -> Option<(Normalize, ValueRef)> {
    let Measured { kind, axes, of, scale, epsilon, offset, least } = root;
    if axes == [false; 4] {
        return None;
    }
    let (statistic, x) = if kind == SquareKind::Mean && from_mean(ctx, dividend).is_some() {
        let (mean_axes, x) = from_mean(ctx, dividend)?;
        let same = mean_axes == axes && is_square(ctx, of, |value| is_distance(ctx, value, dividend, (axes, x)));
        let same = same || is_squared_difference(ctx, of, (axes, x));
        same.then_some((Statistic::Variance, x))?
    } else {
        let same = match kind {
            // The reduction already includes the squaring.
            SquareKind::Whole => is_magnitude(ctx, of, dividend),
            SquareKind::Mean | SquareKind::Sum => is_square(ctx, of, |value| is_magnitude(ctx, value, dividend)),
        };
        let statistic = if kind == SquareKind::Mean { Statistic::MeanSquare } else { Statistic::SumSquare };
        same.then_some((statistic, dividend))?
    };
    let numbers = [scale, epsilon, offset, least].map(|number| number as f32);
    let [scale, epsilon, offset, least] = numbers;
    // With negative numbers, or numbers beyond the range of 32-bit floats, the two forms may disagree.
    let usable = scale > 0.0 && numbers.iter().all(|number| *number >= 0.0 && number.is_finite());
    let op = Normalize { axes, statistic, scale, epsilon, offset, least };
    usable.then_some((op, x))
}

/// The reduction over squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SquareKind {
    Mean,
    Sum,
    /// Sum of squares, where the reduction itself squares its operand.
    Whole,
}

/// `max(sqrt(scale * (mean or sum of `of` over the axes) + epsilon) + offset, least)`.
#[derive(Clone, Copy, Debug)]
struct Measured {
    kind: SquareKind,
    axes: [bool; 4],
    of: ValueRef,
    scale: f64,
    epsilon: f64,
    offset: f64,
    least: f64,
}

impl Measured {
    fn new(kind: SquareKind, axes: [bool; 4], of: ValueRef) -> Self {
        Self { kind, axes, of, scale: 1.0, epsilon: 0.0, offset: 0.0, least: 0.0 }
    }
}

/// An operation with a constant number.
enum Step {
    Add(f64),
    Times(f64),
    AtLeast(f64),
}

/// Returns the last operation on a value, if its other operand is a constant number, and the operand. Looks through
/// nodes that repeat a value along axes, which exporters insert before a division.
fn step(ctx: &RewriteContext, value: ValueRef) -> Option<(Step, ValueRef)> {
    let with_number = |a: ValueRef, b: ValueRef| match (ctx.number(a), ctx.number(b)) {
        (None, Some(number)) => Some((number, a)),
        (Some(number), None) => Some((number, b)),
        _ => None,
    };
    match ctx.term(value) {
        Term::Binary(Binary::Add, a, b) => with_number(a, b).map(|(number, x)| (Step::Add(number), x)),
        Term::Binary(Binary::Mul, a, b) => with_number(a, b).map(|(number, x)| (Step::Times(number), x)),
        Term::Binary(Binary::Maximum, a, b) => with_number(a, b).map(|(number, x)| (Step::AtLeast(number), x)),
        Term::Binary(Binary::Div, x, by) => ctx.number(by).map(|number| (Step::Times(1.0 / number), x)),
        Term::Unary(Unary::Clip { min, max }, x) if max >= f32::MAX => Some((Step::AtLeast(f64::from(min)), x)),
        Term::Unary(Unary::Relu, x) => Some((Step::AtLeast(0.0), x)),
        _ => None,
    }
}

/// Decomposes a divisor into operations on a root and operations under it.
fn divisor(ctx: &RewriteContext, value: ValueRef) -> Option<Measured> {
    let (mut value, mut after) = (ctx.unrepeated(value), Vec::new());
    while let Some((step, x)) = step(ctx, value).filter(|_| after.len() < MAX_DEPTH) {
        after.push(step);
        value = ctx.unrepeated(x);
    }
    let mut measured = match ctx.term(value) {
        Term::Unary(Unary::Sqrt, x) => under_root(ctx, x)?,
        Term::Binary(Binary::Pow, x, half) if ctx.number(half) == Some(0.5) => under_root(ctx, x)?,
        Term::Reduce(ReduceKind::L2, axes, x) => Measured::new(SquareKind::Whole, ctx.long(axes, x), x),
        _ => return None,
    };
    for step in after.into_iter().rev() {
        match step {
            // Numbers that are added and then subtracted may be there to round, so only additions of nonnegative
            // numbers match.
            Step::Add(number) if number >= 0.0 => {
                measured.offset += number;
                measured.least = raised(measured.least, number);
            }
            // The root is not negative, so a positive factor can move under it as its square.
            Step::Times(factor) if factor > 0.0 => {
                measured.scale *= factor * factor;
                measured.epsilon *= factor * factor;
                measured.offset *= factor;
                measured.least *= factor;
            }
            Step::Add(_) | Step::Times(_) => return None,
            Step::AtLeast(number) => measured.least = measured.least.max(number),
        }
    }
    Some(measured)
}

/// Decomposes the expression under a root.
fn under_root(ctx: &RewriteContext, value: ValueRef) -> Option<Measured> {
    let (mut value, mut after) = (ctx.unrepeated(value), Vec::new());
    while let Some((step, x)) = step(ctx, value).filter(|_| after.len() < MAX_DEPTH) {
        after.push(step);
        value = ctx.unrepeated(x);
    }
    let mut measured = match ctx.term(value) {
        Term::Reduce(ReduceKind::Mean, ..) => {
            let (axes, of) = ctx.mean(value)?;
            Measured::new(SquareKind::Mean, axes, of)
        }
        Term::Reduce(ReduceKind::Sum, axes, of) => Measured::new(SquareKind::Sum, ctx.long(axes, of), of),
        Term::Reduce(ReduceKind::SumSquare, axes, x) => Measured::new(SquareKind::Whole, ctx.long(axes, x), x),
        _ => return None,
    };
    for step in after.into_iter().rev() {
        match step {
            Step::Add(number) if number >= 0.0 => {
                measured.epsilon += number;
                measured.least = raised(measured.least, number);
            }
            Step::Times(factor) if factor > 0.0 => {
                measured.scale *= factor;
                measured.epsilon *= factor;
                measured.least *= factor;
            }
            Step::Add(_) | Step::Times(_) => return None,
            Step::AtLeast(number) => measured.least = measured.least.max(number),
        }
    }
    // The bound on the square becomes a bound on its root.
    measured.least = measured.least.sqrt();
    Some(measured)
}

/// Returns a lower bound after a number is added to the bounded value. Zero means unbounded.
fn raised(least: f64, number: f64) -> f64 {
    if least > 0.0 { least + number } else { least }
}

/// Returns the divisor if a value is an inverse in any of the usual forms.
fn inverse(ctx: &RewriteContext, value: ValueRef) -> Option<Measured> {
    let value = ctx.unrepeated(value);
    match ctx.term(value) {
        Term::Unary(Unary::Rsqrt, x) => under_root(ctx, x),
        Term::Unary(Unary::Reciprocal, root) => divisor(ctx, root),
        Term::Binary(Binary::Div, one, root) if ctx.number(one) == Some(1.0) => divisor(ctx, root),
        Term::Binary(Binary::Pow, x, power) => match ctx.number(power) {
            Some(-0.5) => under_root(ctx, x),
            Some(-1.0) => divisor(ctx, x),
            _ => None,
        },
        _ => None,
    }
}

/// Matches `x - mean(x)` and returns the axes of the mean, and `x`.
fn from_mean(ctx: &RewriteContext, value: ValueRef) -> Option<([bool; 4], ValueRef)> {
    let Term::Binary(Binary::Sub, x, mean) = ctx.term(value) else { return None };
    // A mean over axes with one element each is the value itself, and the difference zero.
    ctx.mean(mean).filter(|&(axes, of)| of == x && axes != [false; 4])
}

/// Returns whether a value is the difference of `x` from its mean. Files compute that difference once or twice.
fn is_distance(ctx: &RewriteContext, value: ValueRef, distance: ValueRef, x: ([bool; 4], ValueRef)) -> bool {
    value == distance || from_mean(ctx, value) == Some(x)
}

/// Returns whether a value is `x` or its magnitude, which has the same square.
fn is_magnitude(ctx: &RewriteContext, value: ValueRef, x: ValueRef) -> bool {
    value == x || ctx.term(value) == Term::Unary(Unary::Abs, x)
}

/// Returns whether a value is the square of a value for which `is` returns true.
fn is_square(ctx: &RewriteContext, value: ValueRef, is: impl Fn(ValueRef) -> bool) -> bool {
    match ctx.term(value) {
        Term::Unary(Unary::Square, y) => is(y),
        Term::Binary(Binary::Mul, a, b) => a == b && is(a),
        Term::Binary(Binary::Pow, y, two) => ctx.number(two) == Some(2.0) && is(y),
        _ => false,
    }
}

/// Returns whether a value is the squared difference of `x` from its mean, computed by a single operator.
fn is_squared_difference(ctx: &RewriteContext, value: ValueRef, x: ([bool; 4], ValueRef)) -> bool {
    let Term::Binary(Binary::SquaredDifference, a, b) = ctx.term(value) else { return false };
    [(a, b), (b, a)].iter().any(|&(y, mean)| y == x.1 && ctx.mean(mean) == Some(x))
}
