//! Normalization to mean 0 and variance 1, written out.

use super::{
    context::RewriteContext,
    edit::Proposal,
    numerics::Numerics,
    pattern_match::{PatternMatch, recognised},
    rule::{Order, Rule},
    term::{Term, ValueRef},
};
use crate::graph::{Binary, NodeId, Normalize, Op, Unary};

pub(super) const RULE: Rule = Rule {
    name: "normalization",
    about: "recognises what layer and instance normalization compute before they scale: the distance from the mean, \
            divided by the root of the mean of its square plus a number",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    recognised(ctx, id, find_match)
}

fn find_match(ctx: &RewriteContext, whole: ValueRef) -> Option<PatternMatch> {
    let (distance, variance) = match ctx.term(whole) {
        Term::Two(Binary::Div, distance, root) => (distance, under_root(ctx, root)?),
        Term::Two(Binary::Mul, a, b) => match inverse_root(ctx, b) {
            Some(variance) => (a, variance),
            None => (b, inverse_root(ctx, a)?),
        },
        _ => return None,
    };
    let (axes, x) = from_mean(ctx, distance)?;
    let sum = ctx.sum(variance);
    let &[variance] = &sum.values[..] else { return None };
    let (of, square) = ctx.mean(variance)?;
    let same = of == axes && sum.number >= 0.0 && is_square(ctx, square, distance, (axes, x));
    same.then(|| PatternMatch::new(Op::Normalize(Normalize { axes, epsilon: sum.number as f32 }), x, &[]))
}

/// `x` of `sqrt(x)`.
fn under_root(ctx: &RewriteContext, value: ValueRef) -> Option<ValueRef> {
    match ctx.term(value) {
        Term::One(Unary::Sqrt, x) => Some(x),
        _ => None,
    }
}

/// `x` of `1 / sqrt(x)`, however it is written.
fn inverse_root(ctx: &RewriteContext, value: ValueRef) -> Option<ValueRef> {
    match ctx.term(value) {
        Term::One(Unary::Rsqrt, x) => Some(x),
        Term::One(Unary::Reciprocal, root) => under_root(ctx, root),
        Term::Two(Binary::Div, one, root) if ctx.number(one) == Some(1.0) => under_root(ctx, root),
        _ => None,
    }
}

/// `x - mean(x)`: the axes of the mean, and `x`.
fn from_mean(ctx: &RewriteContext, value: ValueRef) -> Option<([bool; 4], ValueRef)> {
    let Term::Two(Binary::Sub, x, mean) = ctx.term(value) else { return None };
    // A mean over axes of one element each is the value, and the distance from it zero.
    ctx.mean(mean).filter(|&(axes, of)| of == x && axes != [false; 4])
}

/// Whether a value is the square of the distance of `x` from its mean; files compute that distance once or twice.
fn is_square(ctx: &RewriteContext, value: ValueRef, distance: ValueRef, x: ([bool; 4], ValueRef)) -> bool {
    let is_distance = |value| value == distance || from_mean(ctx, value) == Some(x);
    match ctx.term(value) {
        Term::One(Unary::Square, y) => is_distance(y),
        Term::Two(Binary::Mul, a, b) => a == b && is_distance(a),
        Term::Two(Binary::Pow, y, two) => ctx.number(two) == Some(2.0) && is_distance(y),
        Term::Two(Binary::SquaredDifference, a, b) => {
            [(a, b), (b, a)].iter().any(|&(y, mean)| y == x.1 && ctx.mean(mean) == Some(x))
        }
        _ => false,
    }
}
