//! Normalization to mean 0 and variance 1, written out.

use super::{
    edit::Verdict,
    numerics::Numerics,
    pattern_match::{PatternMatch, recognised},
    rule::{Order, Rule},
    site::Site,
    term::{Term, Value},
};
use crate::graph::{Binary, NodeId, Normalize, Op, Unary};

pub(super) const RULE: Rule = Rule {
    name: "normalization",
    about: "recognises what layer and instance normalization compute before they scale: the distance from the mean, \
            divided by the root of the mean of its square plus a number",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    recognised(site, id, found)
}

fn found(site: &Site, whole: Value) -> Option<PatternMatch> {
    let (distance, variance) = match site.term(whole) {
        Term::Two(Binary::Div, distance, root) => (distance, under_root(site, root)?),
        Term::Two(Binary::Mul, a, b) => match inverse_root(site, b) {
            Some(variance) => (a, variance),
            None => (b, inverse_root(site, a)?),
        },
        _ => return None,
    };
    let (axes, x) = from_mean(site, distance)?;
    let sum = site.sum(variance);
    let &[variance] = &sum.values[..] else { return None };
    let (of, square) = site.mean(variance)?;
    let same = of == axes && sum.number >= 0.0 && is_square(site, square, distance, (axes, x));
    same.then(|| PatternMatch::new(Op::Normalize(Normalize { axes, epsilon: sum.number as f32 }), x, &[]))
}

/// What a value is the square root of.
fn under_root(site: &Site, value: Value) -> Option<Value> {
    match site.term(value) {
        Term::One(Unary::Sqrt, x) => Some(x),
        _ => None,
    }
}

/// What a value is one divided by the square root of.
fn inverse_root(site: &Site, value: Value) -> Option<Value> {
    match site.term(value) {
        Term::One(Unary::Rsqrt, x) => Some(x),
        Term::One(Unary::Reciprocal, root) => under_root(site, root),
        Term::Two(Binary::Div, one, root) if site.number(one) == Some(1.0) => under_root(site, root),
        _ => None,
    }
}

/// `x - mean(x)`: the axes of the mean, and `x`.
fn from_mean(site: &Site, value: Value) -> Option<([bool; 4], Value)> {
    let Term::Two(Binary::Sub, x, mean) = site.term(value) else { return None };
    site.mean(mean).filter(|&(axes, of)| of == x && axes != [false; 4])
}

/// Whether a value is the square of the distance of `x` from its mean, that computed before or once more.
fn is_square(site: &Site, value: Value, distance: Value, x: ([bool; 4], Value)) -> bool {
    let is_distance = |value| value == distance || from_mean(site, value) == Some(x);
    match site.term(value) {
        Term::One(Unary::Square, y) => is_distance(y),
        Term::Two(Binary::Mul, a, b) => a == b && is_distance(a),
        Term::Two(Binary::Pow, y, two) => site.number(two) == Some(2.0) && is_distance(y),
        Term::Two(Binary::SquaredDifference, a, b) => {
            [(a, b), (b, a)].iter().any(|&(y, mean)| y == x.1 && site.mean(mean) == Some(x))
        }
        _ => false,
    }
}
