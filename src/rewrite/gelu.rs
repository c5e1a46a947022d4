//! The Gaussian error linear unit, written out.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

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
    name: "gelu",
    about: "recognises Gelu written out, by the error function or its approximation by TANH, factors in any order",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    look,
};

/// Factor of the cube in the approximation.
const CUBIC: f64 = 0.044715;

fn look(site: &Site, id: NodeId) -> Verdict {
    recognised(site, id, found)
}

/// `x / 2 * (1 + f(x))`
fn found(site: &Site, whole: Value) -> Option<PatternMatch> {
    let product = site.product(whole);
    let &[a, b] = &product.values[..] else { return None };
    let known = |x, gate| {
        let sum = site.sum(gate);
        let &[inner] = &sum.values[..] else { return None };
        let numbers = [[product.factor, 0.5], [sum.number, 1.0]];
        match site.term(inner) {
            Term::One(Unary::Erf, y) => {
                let scaled = site.product(y);
                let numbers = [numbers[0], numbers[1], [scaled.factor, FRAC_1_SQRT_2]];
                (scaled.values == [x]).then(|| PatternMatch::unary(Unary::Gelu, x, &numbers))
            }
            Term::One(Unary::Tanh, y) => {
                let [factor, cubic] = cubic(site, y, x)?;
                let numbers = [numbers[0], numbers[1], [factor, FRAC_2_PI.sqrt()], [cubic, CUBIC]];
                Some(PatternMatch::unary(Unary::GeluTanh, x, &numbers))
            }
            _ => None,
        }
    };
    known(a, b).or_else(|| known(b, a))
}

/// `f` and `c` of `f * (x + c * x^3)`, also written `f * x * (1 + c * x^2)`.
fn cubic(site: &Site, value: Value, x: Value) -> Option<[f64; 2]> {
    let product = site.product(value);
    let (sum, power) = match product.values[..] {
        [sum] => (site.sum(sum), 3),
        [a, b] if a == x => (site.sum(b), 2),
        [a, b] if b == x => (site.sum(a), 2),
        _ => return None,
    };
    let raised = match (power, &sum.values[..]) {
        (3, &[a, b]) if sum.number == 0.0 && a == x => b,
        (3, &[a, b]) if sum.number == 0.0 && b == x => a,
        (2, &[raised]) if sum.number == 1.0 => raised,
        _ => return None,
    };
    let raised = site.product(raised);
    (raised.values == vec![x; power]).then_some([product.factor, raised.factor])
}
