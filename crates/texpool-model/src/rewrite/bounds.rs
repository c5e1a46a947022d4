//! Turns all forms of clamps into one function of one value.

use super::{
    context::RewriteContext,
    edit::Proposal,
    numerics::Numerics,
    pattern_match::{PatternMatch, replaced},
    rule::{Order, Rule},
    term::{Term, ValueRef},
};
use texpool_ops::graph::{Binary, NodeId, Unary};

pub(super) const RULE: Rule = Rule {
    name: "bounds",
    about: "turns minima and maxima with a number, and chains of them, into one function: RELU, RELU6 or \
            RELU_N1_TO_1 where possible",
    numerics: Numerics::SignedZero,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let whole = ctx.without_epilogue(id);
    let Some((outer, x)) = bounds(ctx, whole) else { return Ok(None) };
    // The inner clamp must apply to a stored tensor: a value in the middle of an epilogue cannot be read.
    let inner = bounds(ctx, x).filter(|(_, x)| ctx.value(x.tensor) == *x);
    let private = inner.map_or(Ok(()), |_| ctx.check_one_use(x.tensor));
    let inner = inner.filter(|_| private.is_ok());
    let ([min, max], x) =
        // Clamping the inner bounds by the outer ones gives the same result, even if the two ranges do not overlap.
        inner.map_or((outer, x), |(inner, x)| (inner.map(|bound| bound.max(outer[0]).min(outer[1])), x));
    let unary = simplest(min, max);
    // Rules run until they change nothing, so a rule must never replace a function by the same function.
    if ctx.term(whole) == Term::Unary(unary, x) {
        return private.map(|()| None);
    }
    replaced(ctx, id, Some(PatternMatch::unary(unary, x, &[])))
}

/// Returns the lower and upper bound of a clamp, and the value that it clamps.
fn bounds(ctx: &RewriteContext, value: ValueRef) -> Option<([f32; 2], ValueRef)> {
    let ([min, max], x) = match ctx.term(value) {
        Term::Unary(Unary::Relu, x) => ([0.0, f32::INFINITY], x),
        Term::Unary(Unary::Relu6, x) => ([0.0, 6.0], x),
        Term::Unary(Unary::ReluN1To1, x) => ([-1.0, 1.0], x),
        Term::Unary(Unary::Clip { min, max }, x) => ([min, max], x),
        Term::Binary(Binary::Maximum, a, b) => {
            let (x, number) = with_number(ctx, a, b)?;
            ([number, f32::INFINITY], x)
        }
        Term::Binary(Binary::Minimum, a, b) => {
            let (x, number) = with_number(ctx, a, b)?;
            ([f32::NEG_INFINITY, number], x)
        }
        _ => return None,
    };
    // Also false for NaN. Clamps with such bounds are left unchanged.
    (min <= max).then_some(([min, max], x))
}

fn with_number(ctx: &RewriteContext, a: ValueRef, b: ValueRef) -> Option<(ValueRef, f32)> {
    let [first, second] = [a, b].map(|value| ctx.uniform_value(value.tensor));
    second.map(|number| (a, number)).or(first.map(|number| (b, number)))
}

fn simplest(min: f32, max: f32) -> Unary {
    match (min, max) {
        (0.0, 6.0) => Unary::Relu6,
        (-1.0, 1.0) => Unary::ReluN1To1,
        (0.0, f32::INFINITY) => Unary::Relu,
        (min, max) => Unary::Clip { min, max },
    }
}
