//! Joins a quantisation and the dequantisation behind it.

use super::{
    context::RewriteContext,
    edit::Proposal,
    numerics::Numerics,
    pattern_match::{PatternMatch, recognised},
    rule::{Order, Rule},
    term::{Term, ValueRef},
};
use texpool_ops::graph::{Binary, NodeId, Unary};

pub(super) const RULE: Rule = Rule {
    name: "fake-quant",
    about: "merges a quantisation and the multiplication by its scale into one function",
    numerics: Numerics::Exact,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    recognised(ctx, id, dequantised)
}

/// Matches a product of quanta and their scale.
fn dequantised(ctx: &RewriteContext, whole: ValueRef) -> Option<PatternMatch> {
    let Term::Binary(Binary::Mul, a, b) = ctx.term(whole) else { return None };
    let by = |quanta: ValueRef, factor: ValueRef| match (ctx.term(quanta), ctx.uniform_value(factor.tensor)) {
        (Term::Unary(Unary::QuantizeEven { scale, least, most }, x), Some(factor)) if factor == scale => {
            Some(PatternMatch::unary(Unary::FakeQuantEven { scale, least, most }, x, &[]))
        }
        _ => None,
    };
    by(a, b).or_else(|| by(b, a))
}
