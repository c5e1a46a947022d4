//! Replaces powers with constant exponents by dedicated functions.

use super::{
    context::RewriteContext,
    edit::Proposal,
    numerics::Numerics,
    pattern_match::{PatternMatch, replaced},
    rule::{Order, Rule},
    term::Term,
};
use texpool_ops::graph::{Binary, NodeId, Unary};

pub(super) const RULE: Rule = Rule {
    name: "power",
    about: "turns a value times itself, and powers of 2, 1/2, -1/2 and -1, into squares, roots and reciprocals",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let whole = ctx.without_epilogue(id);
    let operator = match ctx.term(whole) {
        Term::Binary(Binary::Mul, a, b) if a == b => Some((Unary::Square, a)),
        Term::Binary(Binary::Pow, x, power) => match ctx.uniform_value(power.tensor) {
            Some(2.0) => Some((Unary::Square, x)),
            Some(0.5) => Some((Unary::Sqrt, x)),
            Some(-0.5) => Some((Unary::Rsqrt, x)),
            Some(-1.0) => Some((Unary::Reciprocal, x)),
            _ => None,
        },
        _ => None,
    };
    replaced(ctx, id, operator.map(|(unary, x)| PatternMatch::unary(unary, x, &[])))
}
