//! Softmax and its logarithm, written out.

use super::{
    edit::Verdict,
    found::{Found, recognised},
    rules::{Order, Rule},
    site::Site,
    term::{Term, Value},
};
use crate::graph::{Binary, NodeId, Op, Reduce, Unary};

pub(super) const RULE: Rule = Rule {
    name: "softmax",
    about: "recognises SOFTMAX and LOG_SOFTMAX over channels written out, the greatest value subtracted first or not",
    bits: "summed in another order",
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    recognised(site, id, found)
}

fn found(site: &Site, whole: Value) -> Option<Found> {
    let (exponent, log) = match site.term(whole) {
        Term::Two(Binary::Div, power, sum) => {
            let Term::One(Unary::Exp, exponent) = site.term(power) else { return None };
            (over_channels(site, Reduce::Sum, sum)? == power).then_some((exponent, false))?
        }
        Term::Two(Binary::Sub, exponent, log) => (log_of_powers(site, log)? == exponent).then_some((exponent, true))?,
        _ => return None,
    };
    let x = match site.term(exponent) {
        Term::Two(Binary::Sub, x, greatest) if over_channels(site, Reduce::Max, greatest) == Some(x) => x,
        _ => exponent,
    };
    Some(Found::new(Op::Softmax { beta: 1.0, log }, x, &[]))
}

/// What a value is the logarithm of the sum of the powers of.
fn log_of_powers(site: &Site, value: Value) -> Option<Value> {
    if let Some(x) = over_channels(site, Reduce::LogSumExp, value) {
        return Some(x);
    }
    let powers = match site.term(value) {
        Term::One(Unary::Log, sum) => over_channels(site, Reduce::Sum, sum)?,
        _ => over_channels(site, Reduce::LogSum, value)?,
    };
    match site.term(powers) {
        Term::One(Unary::Exp, x) => Some(x),
        _ => None,
    }
}

/// What a value is this function of, over channels alone.
fn over_channels(site: &Site, reduce: Reduce, value: Value) -> Option<Value> {
    match site.term(value) {
        Term::Over(kind, axes, x) if kind == reduce && site.long(axes, x) == [false, false, false, true] => Some(x),
        _ => None,
    }
}
