//! Recognises the Gaussian error linear unit, written out as several nodes.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

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
    name: "gelu",
    about: "recognises Gelu written out, by the error function or its TANH approximation, with factors in any order",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

/// Factor of the cube in the tanh approximation.
const CUBIC: f64 = 0.044715;

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    recognised(ctx, id, find_match)
}

/// Matches `x / 2 * (1 + f(x))`.
fn find_match(ctx: &RewriteContext, whole: ValueRef) -> Option<PatternMatch> {
    let product = ctx.product(whole);
    let &[a, b] = &product.values[..] else { return None };
    let gelu = |x, gate| {
        let sum = ctx.sum(gate);
        let &[inner] = &sum.values[..] else { return None };
        let numbers = [[product.factor, 0.5], [sum.number, 1.0]];
        match ctx.term(inner) {
            Term::Unary(Unary::Erf, y) => {
                let scaled = ctx.product(y);
                let numbers = [numbers[0], numbers[1], [scaled.factor, FRAC_1_SQRT_2]];
                (scaled.values == [x]).then(|| PatternMatch::unary(Unary::Gelu, x, &numbers))
            }
            Term::Unary(Unary::Tanh, y) => {
                let [factor, cubic] = cubic(ctx, y, x)?;
                let numbers = [numbers[0], numbers[1], [factor, FRAC_2_PI.sqrt()], [cubic, CUBIC]];
                Some(PatternMatch::unary(Unary::GeluTanh, x, &numbers))
            }
            _ => None,
        }
    };
    gelu(a, b).or_else(|| gelu(b, a))
}

/// Returns `f` and `c` of `f * (x + c * x^3)`, also if written as `f * x * (1 + c * x^2)`.
fn cubic(ctx: &RewriteContext, value: ValueRef, x: ValueRef) -> Option<[f64; 2]> {
    let product = ctx.product(value);
    let (sum, power) = match product.values[..] {
        [sum] => (ctx.sum(sum), 3),
        [a, b] if a == x => (ctx.sum(b), 2),
        [a, b] if b == x => (ctx.sum(a), 2),
        _ => return None,
    };
    let raised = match (power, &sum.values[..]) {
        (3, &[a, b]) if sum.number == 0.0 && a == x => b,
        (3, &[a, b]) if sum.number == 0.0 && b == x => a,
        (2, &[raised]) if sum.number == 1.0 => raised,
        _ => return None,
    };
    let raised = ctx.product(raised);
    (raised.values == vec![x; power]).then_some([product.factor, raised.factor])
}
