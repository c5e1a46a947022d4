//! Recognises a value multiplied by a smooth gate of itself, written out as several nodes.

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
    name: "gated-activation",
    about: "recognises Swish, a value times its LOGISTIC, and Mish, a value times the TANH of its Softplus",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    recognised(ctx, id, find_match)
}

fn find_match(ctx: &RewriteContext, whole: ValueRef) -> Option<PatternMatch> {
    let product = ctx.product(whole);
    let &[a, b] = &product.values[..] else { return None };
    let gated = |x, by| {
        let unary = match ctx.term(by) {
            Term::Unary(Unary::Logistic, y) if y == x => Unary::Silu,
            Term::Unary(Unary::Tanh, y) if is_softplus(ctx, y, x) => Unary::Mish,
            _ => return None,
        };
        Some(PatternMatch::unary(unary, x, &[[product.factor, 1.0]]))
    };
    gated(a, b).or_else(|| gated(b, a))
}

/// Returns whether a value is `log(1 + exp(x))`, as one operator or written out.
fn is_softplus(ctx: &RewriteContext, value: ValueRef, x: ValueRef) -> bool {
    match ctx.term(value) {
        Term::Unary(Unary::Softplus, y) => y == x,
        Term::Unary(Unary::Log, y) => {
            let sum = ctx.sum(y);
            let &[power] = &sum.values[..] else { return false };
            sum.number == 1.0 && ctx.term(power) == Term::Unary(Unary::Exp, x)
        }
        _ => false,
    }
}
