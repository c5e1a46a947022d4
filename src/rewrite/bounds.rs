//! Bounds on values, however they are written, as one function of the value.

use super::{
    edit::Verdict,
    numerics::Numerics,
    pattern_match::{PatternMatch, replaced},
    rule::{Order, Rule},
    site::Site,
    term::{Term, Value},
};
use crate::graph::{Binary, NodeId, Unary};

pub(super) const RULE: Rule = Rule {
    name: "bounds",
    about: "makes the greater or lesser of a value and a number, and bounds of bounds, one function of the value: \
            RELU, RELU6, RELU_N1_TO_1 where it is one",
    numerics: Numerics::SignedZero,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let whole = site.without_epilogue(id);
    let Some((outer, x)) = bounds(site, whole) else { return Ok(None) };
    // What is bounded within an epilogue is no tensor: there is nothing to read it from.
    let inner = bounds(site, x).filter(|(_, x)| site.value(x.tensor) == *x);
    let private = inner.map_or(Ok(()), |_| site.check_private(x.tensor));
    let inner = inner.filter(|_| private.is_ok());
    let ([min, max], x) =
        inner.map_or((outer, x), |(inner, x)| (inner.map(|bound| bound.max(outer[0]).min(outer[1])), x));
    let unary = simplest(min, max);
    if site.term(whole) == Term::One(unary, x) {
        return private.map(|()| None);
    }
    replaced(site, id, Some(PatternMatch::unary(unary, x, &[])))
}

/// The least and greatest value that a value is held between, and the one that is held.
fn bounds(site: &Site, value: Value) -> Option<([f32; 2], Value)> {
    let ([min, max], x) = match site.term(value) {
        Term::One(Unary::Relu, x) => ([0.0, f32::INFINITY], x),
        Term::One(Unary::Relu6, x) => ([0.0, 6.0], x),
        Term::One(Unary::ReluN1To1, x) => ([-1.0, 1.0], x),
        Term::One(Unary::Clip { min, max }, x) => ([min, max], x),
        Term::Two(Binary::Maximum, a, b) => {
            let (x, number) = with_number(site, a, b)?;
            ([number, f32::INFINITY], x)
        }
        Term::Two(Binary::Minimum, a, b) => {
            let (x, number) = with_number(site, a, b)?;
            ([f32::NEG_INFINITY, number], x)
        }
        _ => return None,
    };
    (min <= max).then_some(([min, max], x))
}

fn with_number(site: &Site, a: Value, b: Value) -> Option<(Value, f32)> {
    let [first, second] = [a, b].map(|value| site.one_value(value.tensor));
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
