//! Recognises softmax and log-softmax that are written out as several nodes.

use super::{
    context::RewriteContext,
    numerics::Numerics,
    pattern_match::{PatternMatch, recognised},
    rule::{Order, Rule},
    term::{Term, ValueRef},
};
use texpool_ops::graph::{Binary, Op, ReduceKind, Softmax, Unary};

pub(super) const RULE: Rule = Rule {
    name: "softmax",
    about: "recognises SOFTMAX and LOG_SOFTMAX over channels written out, with the maximum subtracted first",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose: |ctx, id| {
        recognised(ctx, id, |ctx, whole| find_match(ctx, whole).filter(|softmax| softmax.is_safe).map(pattern))
    },
};

/// `exp` overflows 32-bit floats for arguments above 88, and a quotient of infinities is NaN. For such arguments the
/// file's nodes return NaN but a softmax returns a number, so this rule is off by default.
pub(super) const UNSAFE_RULE: Rule = Rule {
    name: "softmax-unshifted",
    about: "recognises SOFTMAX and LOG_SOFTMAX over channels written out, without the maximum subtracted first",
    numerics: Numerics::ChangesRange,
    order: Order::Forward,
    propose: |ctx, id| recognised(ctx, id, |ctx, whole| find_match(ctx, whole).map(pattern)),
};

/// A softmax written out as several nodes.
struct SoftmaxMatch {
    x: ValueRef,
    log: bool,
    /// True if no power can overflow.
    is_safe: bool,
}

fn pattern(SoftmaxMatch { x, log, .. }: SoftmaxMatch) -> PatternMatch {
    PatternMatch::new(Op::Softmax(Softmax { beta: 1.0, log }), x, &[])
}

fn find_match(ctx: &RewriteContext, whole: ValueRef) -> Option<SoftmaxMatch> {
    let (exponent, log, stable) = match ctx.term(whole) {
        Term::Binary(Binary::Div, power, sum) => {
            let Term::Unary(Unary::Exp, exponent) = ctx.term(power) else { return None };
            (over_channels(ctx, ReduceKind::Sum, sum)? == power).then_some((exponent, false, false))?
        }
        Term::Binary(Binary::Sub, exponent, log) => {
            let (powers, stable) = log_of_powers(ctx, log)?;
            (powers == exponent).then_some((exponent, true, stable))?
        }
        _ => return None,
    };
    Some(match ctx.term(exponent) {
        Term::Binary(Binary::Sub, x, greatest) if over_channels(ctx, ReduceKind::Max, greatest) == Some(x) => {
            SoftmaxMatch { x, log, is_safe: true }
        }
        _ => SoftmaxMatch { x: exponent, log, is_safe: stable },
    })
}

/// Returns `x` of `log(sum(exp(x)))`, and whether the form of the expression prevents powers from overflowing.
fn log_of_powers(ctx: &RewriteContext, value: ValueRef) -> Option<(ValueRef, bool)> {
    if let Some(x) = over_channels(ctx, ReduceKind::LogSumExp, value) {
        return Some((x, true));
    }
    let powers = match ctx.term(value) {
        Term::Unary(Unary::Log, sum) => over_channels(ctx, ReduceKind::Sum, sum)?,
        // ONNX also has a single operator for the logarithm of a sum.
        _ => over_channels(ctx, ReduceKind::LogSum, value)?,
    };
    match ctx.term(powers) {
        Term::Unary(Unary::Exp, x) => Some((x, false)),
        _ => None,
    }
}

/// Returns `x`, if the value is the reduction `reduce` of `x` over channels only.
fn over_channels(ctx: &RewriteContext, reduce: ReduceKind, value: ValueRef) -> Option<ValueRef> {
    match ctx.term(value) {
        Term::Reduce(kind, axes, x) if kind == reduce && ctx.long(axes, x) == [false, false, false, true] => Some(x),
        _ => None,
    }
}
