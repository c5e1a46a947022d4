//! A value times a smooth gate of itself, written out.

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
    name: "gated-activation",
    about: "recognises Swish, a value times its LOGISTIC, and Mish, a value times the TANH of its Softplus",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    recognised(site, id, found)
}

fn found(site: &Site, whole: Value) -> Option<PatternMatch> {
    let product = site.product(whole);
    let &[a, b] = &product.values[..] else { return None };
    let known = |x, by| {
        let unary = match site.term(by) {
            Term::One(Unary::Logistic, y) if y == x => Unary::Silu,
            Term::One(Unary::Tanh, y) if is_softplus(site, y, x) => Unary::Mish,
            _ => return None,
        };
        Some(PatternMatch::unary(unary, x, &[[product.factor, 1.0]]))
    };
    known(a, b).or_else(|| known(b, a))
}

/// Whether a value is `log(1 + exp(x))`, by name or written out.
fn is_softplus(site: &Site, value: Value, x: Value) -> bool {
    match site.term(value) {
        Term::One(Unary::Softplus, y) => y == x,
        Term::One(Unary::Log, y) => {
            let sum = site.sum(y);
            let &[power] = &sum.values[..] else { return false };
            sum.number == 1.0 && site.term(power) == Term::One(Unary::Exp, x)
        }
        _ => false,
    }
}
