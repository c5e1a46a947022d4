//! Softmax and its logarithm, written out.

use super::{
    numerics::Numerics,
    pattern_match::{PatternMatch, recognised},
    rule::{Order, Rule},
    site::Site,
    term::{Term, Value},
};
use crate::graph::{Binary, Op, ReduceKind, Softmax, Unary};

pub(super) const RULE: Rule = Rule {
    name: "softmax",
    about: "recognises SOFTMAX and LOG_SOFTMAX over channels written out, the greatest value subtracted first",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    look: |site, id| recognised(site, id, |site, whole| found(site, whole).filter(|softmax| softmax.is_safe).map(made)),
};

/// Powers of what is above 88 are infinite, and quotients of those are no numbers: the file's nodes answer NaN where a
/// softmax has an answer.
pub(super) const UNSAFE_RULE: Rule = Rule {
    name: "softmax-unshifted",
    about: "recognises SOFTMAX and LOG_SOFTMAX over channels written out without the greatest value subtracted first",
    numerics: Numerics::ChangesRange,
    order: Order::Forward,
    look: |site, id| recognised(site, id, |site, whole| found(site, whole).map(made)),
};

/// A softmax that is written out.
struct SoftmaxMatch {
    x: Value,
    log: bool,
    /// Whether no power overflows.
    is_safe: bool,
}

fn made(SoftmaxMatch { x, log, .. }: SoftmaxMatch) -> PatternMatch {
    PatternMatch::new(Op::Softmax(Softmax { beta: 1.0, log }), x, &[])
}

fn found(site: &Site, whole: Value) -> Option<SoftmaxMatch> {
    let (exponent, log, stable) = match site.term(whole) {
        Term::Two(Binary::Div, power, sum) => {
            let Term::One(Unary::Exp, exponent) = site.term(power) else { return None };
            (over_channels(site, ReduceKind::Sum, sum)? == power).then_some((exponent, false, false))?
        }
        Term::Two(Binary::Sub, exponent, log) => {
            let (powers, stable) = log_of_powers(site, log)?;
            (powers == exponent).then_some((exponent, true, stable))?
        }
        _ => return None,
    };
    Some(match site.term(exponent) {
        Term::Two(Binary::Sub, x, greatest) if over_channels(site, ReduceKind::Max, greatest) == Some(x) => {
            SoftmaxMatch { x, log, is_safe: true }
        }
        _ => SoftmaxMatch { x: exponent, log, is_safe: stable },
    })
}

/// What a value is the logarithm of the sum of the powers of, and whether it is worked out so that none overflows.
fn log_of_powers(site: &Site, value: Value) -> Option<(Value, bool)> {
    if let Some(x) = over_channels(site, ReduceKind::LogSumExp, value) {
        return Some((x, true));
    }
    let powers = match site.term(value) {
        Term::One(Unary::Log, sum) => over_channels(site, ReduceKind::Sum, sum)?,
        _ => over_channels(site, ReduceKind::LogSum, value)?,
    };
    match site.term(powers) {
        Term::One(Unary::Exp, x) => Some((x, false)),
        _ => None,
    }
}

/// What a value is this function of, over channels alone.
fn over_channels(site: &Site, reduce: ReduceKind, value: Value) -> Option<Value> {
    match site.term(value) {
        Term::Over(kind, axes, x) if kind == reduce && site.long(axes, x) == [false, false, false, true] => Some(x),
        _ => None,
    }
}
