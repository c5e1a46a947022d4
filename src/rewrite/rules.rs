//! The list of rules: every one by name, and which of them are on.

use super::{
    activation, affine_chain, bounds, common_subexpression, concat_activation, concat_zeros, dead, exact_division,
    flatten, fold_into_consumer, fold_into_producer, gated_activation, gelu, hard_sigmoid, identity, in_place, linear,
    mask, normalize, numerics::Numerics, pad, power, reshape_chain, residual, rule::Rule, same_size, softmax,
    transpose_chain, transpose_reshape, views,
};

/// Every rule, in the order they are tried; the whole list is gone through until none fires.
///
/// Functions written out are recognised first, before other rules take their parts for something else. Arithmetic is
/// folded before activations are moved, which would otherwise stand between; activations before additions, so that an
/// addition finds the activation in front of it already in its producer; and both before what a concatenation does to
/// its result, so that its parts are computed by as few nodes as there will be.
pub static RULES: [Rule; 27] = [
    mask::RULE,
    identity::RULE,
    same_size::RULE,
    concat_zeros::RULE,
    common_subexpression::RULE,
    transpose_chain::RULE,
    transpose_reshape::RULE,
    reshape_chain::RULE,
    bounds::RULE,
    power::RULE,
    hard_sigmoid::RULE,
    gated_activation::RULE,
    gelu::RULE,
    normalize::RULE,
    softmax::RULE,
    softmax::UNSAFE_RULE,
    exact_division::RULE,
    linear::RULE,
    fold_into_producer::RULE,
    affine_chain::RULE,
    fold_into_consumer::RULE,
    pad::RULE,
    activation::RULE,
    residual::RULE,
    concat_activation::RULE,
    flatten::RULE,
    // Last, because the other rules leave nodes without readers.
    dead::RULE,
];

/// The searches for nodes that need no step.
const IN_PLACE: [&str; 2] = [views::NAME, in_place::NAME];

/// A name that no rule has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no rewrite rule is called `{name}`; there are: {}", Rules::names().collect::<Vec<_>>().join(", "))]
#[non_exhaustive]
pub struct UnknownRule {
    /// The name.
    pub name: String,
}

/// Which rules are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    on: [bool; RULES.len()],
    in_place: [bool; IN_PLACE.len()],
}

impl Rules {
    /// Every rule, those too that [change the range](Numerics::ChangesRange) in which a graph has an answer.
    pub const fn all() -> Self {
        Self { on: [true; RULES.len()], in_place: [true; IN_PLACE.len()] }
    }

    /// No rule: the graph stays the file's.
    pub const fn none() -> Self {
        Self { on: [false; RULES.len()], in_place: [false; IN_PLACE.len()] }
    }

    /// The rules that keep every bit: a graph answers as its file says, number by number.
    pub fn exact() -> Self {
        Self::up_to(Numerics::Exact)
    }

    /// The rules that do no more to numbers than `most`. Those that only find nodes that need no step are among them.
    pub fn up_to(most: Numerics) -> Self {
        let mut rules = Self::all();
        for (on, rule) in rules.on.iter_mut().zip(&RULES) {
            *on = rule.numerics <= most;
        }
        rules
    }

    /// The rules named, and no other.
    ///
    /// # Errors
    /// If a name is no rule's.
    pub fn only(names: &[&str]) -> Result<Self, UnknownRule> {
        Self::none().switch(names, true)
    }

    /// Every rule but those named.
    ///
    /// # Errors
    /// If a name is no rule's.
    pub fn without(names: &[&str]) -> Result<Self, UnknownRule> {
        Self::all().switch(names, false)
    }

    /// The names of all rules; last the searches for [nodes that need no step](crate::graph::NodeSet).
    pub fn names() -> impl Iterator<Item = &'static str> {
        RULES.iter().map(|rule| rule.name).chain(IN_PLACE)
    }

    /// Whether a rule is on.
    pub fn is_on(&self, name: &str) -> bool {
        let in_place = || IN_PLACE.iter().zip(self.in_place).any(|(&other, on)| on && other == name);
        self.iter().any(|rule| rule.name == name) || in_place()
    }

    /// The rules that are on and change the graph, in the order they are tried.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'static Rule> {
        RULES.iter().zip(self.on).filter_map(|(rule, on)| on.then_some(rule))
    }

    fn switch(mut self, names: &[&str], on: bool) -> Result<Self, UnknownRule> {
        for &name in names {
            let rule = RULES.iter().position(|rule| rule.name == name);
            let in_place = IN_PLACE.iter().position(|&other| other == name);
            match (rule, in_place) {
                (Some(rule), _) => self.on[rule] = on,
                (None, Some(place)) => self.in_place[place] = on,
                (None, None) => return Err(UnknownRule { name: name.into() }),
            }
        }
        Ok(self)
    }
}

impl Default for Rules {
    /// The rules whose answers differ from the file's by rounding at most.
    fn default() -> Self {
        Self::up_to(Numerics::Reassociates)
    }
}
