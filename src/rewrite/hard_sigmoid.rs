//! The functions that are straight lines between bounds, written out.

use super::{
    edit::Verdict,
    numerics::Numerics,
    pattern_match::{PatternMatch, recognised},
    rule::{Order, Rule},
    site::Site,
    term::{Term, Value},
};
use crate::graph::{NodeId, Unary};

pub(super) const RULE: Rule = Rule {
    name: "hard-activation",
    about: "recognises HardSigmoid and HARD_SWISH written out: a bounded sum divided by its bound, a value times that",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    recognised(site, id, |site, whole| swish(site, whole).or_else(|| sigmoid(site, whole)))
}

/// `x * min(max(x + 3, 0), 6) / 6`, the quotient anywhere, or `x` times what that is without it.
fn swish(site: &Site, whole: Value) -> Option<PatternMatch> {
    let product = site.product(whole);
    let &[a, b] = &product.values[..] else { return None };
    let numbers = |x: Value, gate: Value| {
        if let Term::One(Unary::HardSigmoid { alpha, beta }, y) = site.term(gate) {
            let numbers = [[f64::from(alpha), 1.0 / 6.0], [f64::from(beta), 0.5], [product.factor, 1.0]];
            return (y == x).then_some(numbers);
        }
        let (bound, inner) = bounded(site, gate)?;
        let sum = site.sum(inner);
        (sum.values == [x]).then_some([[bound, 6.0], [sum.number, 3.0], [product.factor, 1.0 / 6.0]])
    };
    let found = |x, gate| numbers(x, gate).map(|numbers| PatternMatch::unary(Unary::HardSwish, x, &numbers));
    found(a, b).or_else(|| found(b, a))
}

/// `min(max(x + b, 0), n) / n`, or `min(max(a * x + b, 0), 1)`.
fn sigmoid(site: &Site, whole: Value) -> Option<PatternMatch> {
    if let Some((1.0, inner)) = bounded(site, whole) {
        let sum = site.sum(inner);
        let &[line] = &sum.values[..] else { return None };
        let product = site.product(line);
        let &[x] = &product.values[..] else { return None };
        let unary = Unary::HardSigmoid { alpha: product.factor as f32, beta: sum.number as f32 };
        let finite = product.factor.is_finite() && sum.number.is_finite();
        return (x != inner && finite).then(|| PatternMatch::unary(unary, x, &[]));
    }
    let product = site.product(whole);
    let &[gate] = &product.values[..] else { return None };
    let (bound, inner) = bounded(site, gate)?;
    let sum = site.sum(inner);
    let &[x] = &sum.values[..] else { return None };
    let unary = Unary::HardSigmoid { alpha: product.factor as f32, beta: (sum.number * product.factor) as f32 };
    (x != inner && gate != whole).then(|| PatternMatch::unary(unary, x, &[[product.factor * bound, 1.0]]))
}

/// The greatest value, if the least is zero, and what is held between them.
fn bounded(site: &Site, value: Value) -> Option<(f64, Value)> {
    match site.term(value) {
        Term::One(Unary::Relu6, x) => Some((6.0, x)),
        Term::One(Unary::Clip { min: 0.0, max }, x) if max.is_finite() => Some((f64::from(max), x)),
        _ => None,
    }
}
