//! Recognises piecewise linear functions (HardSigmoid, HARD_SWISH) that are written out as several nodes.

use super::{
    context::RewriteContext,
    edit::Proposal,
    numerics::Numerics,
    pattern_match::{PatternMatch, recognised},
    rule::{Order, Rule},
    term::{Term, ValueRef},
};
use texpool_ops::graph::{NodeId, Unary};

pub(super) const RULE: Rule = Rule {
    name: "hard-activation",
    about: "recognises HardSigmoid and HARD_SWISH written out: a bounded sum divided by its bound, and a value times \
            that",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    recognised(ctx, id, |ctx, whole| swish(ctx, whole).or_else(|| sigmoid(ctx, whole)))
}

/// Matches `x * min(max(x + 3, 0), 6) / 6` with the division in any place, or the same with a HardSigmoid as the
/// gate.
fn swish(ctx: &RewriteContext, whole: ValueRef) -> Option<PatternMatch> {
    let product = ctx.product(whole);
    let &[a, b] = &product.values[..] else { return None };
    let numbers = |x: ValueRef, gate: ValueRef| {
        if let Term::Unary(Unary::HardSigmoid { alpha, beta }, y) = ctx.term(gate) {
            let numbers = [[f64::from(alpha), 1.0 / 6.0], [f64::from(beta), 0.5], [product.factor, 1.0]];
            return (y == x).then_some(numbers);
        }
        let (bound, inner) = bounded(ctx, gate)?;
        let sum = ctx.sum(inner);
        (sum.values == [x]).then_some([[bound, 6.0], [sum.number, 3.0], [product.factor, 1.0 / 6.0]])
    };
    let hard_swish = |x, gate| numbers(x, gate).map(|numbers| PatternMatch::unary(Unary::HardSwish, x, &numbers));
    hard_swish(a, b).or_else(|| hard_swish(b, a))
}

/// Matches `min(max(x + b, 0), n) / n`, or `min(max(a * x + b, 0), 1)`.
fn sigmoid(ctx: &RewriteContext, whole: ValueRef) -> Option<PatternMatch> {
    if let Some((1.0, inner)) = bounded(ctx, whole) {
        let sum = ctx.sum(inner);
        let &[line] = &sum.values[..] else { return None };
        let product = ctx.product(line);
        let &[x] = &product.values[..] else { return None };
        let unary = Unary::HardSigmoid { alpha: product.factor as f32, beta: sum.number as f32 };
        let finite = product.factor.is_finite() && sum.number.is_finite();
        // If `x` is clamped directly, a clamp is already the simpler function.
        return (x != inner && finite).then(|| PatternMatch::unary(unary, x, &[]));
    }
    let product = ctx.product(whole);
    let &[gate] = &product.values[..] else { return None };
    let (bound, inner) = bounded(ctx, gate)?;
    let sum = ctx.sum(inner);
    let &[x] = &sum.values[..] else { return None };
    let unary = Unary::HardSigmoid { alpha: product.factor as f32, beta: (sum.number * product.factor) as f32 };
    (x != inner && gate != whole).then(|| PatternMatch::unary(unary, x, &[[product.factor * bound, 1.0]]))
}

/// Returns the upper bound and the clamped value, if the lower bound is zero.
fn bounded(ctx: &RewriteContext, value: ValueRef) -> Option<(f64, ValueRef)> {
    match ctx.term(value) {
        Term::Unary(Unary::Relu6, x) => Some((6.0, x)),
        Term::Unary(Unary::Clip { min: 0.0, max }, x) if max.is_finite() => Some((f64::from(max), x)),
        _ => None,
    }
}
