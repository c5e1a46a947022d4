//! List of all rules by name, and the selection of enabled ones.

use super::{
    activation, affine_chain, bounds, common_subexpression, concat_activation, concat_slices, concat_zeros,
    constant_epilogue, dead, exact_division, fake_quant, flatten, fold_into_consumer, fold_into_producer, frames,
    gated_activation, gelu, hard_sigmoid, heads, identity, in_place, layer_slices, linear, mask, move_chain, normalize,
    numerics::Numerics, pad, power, reshape_chain, residual, rule::Rule, same_size, separable, softmax, softmax_sum,
    transpose_chain, transpose_matrix, transpose_reshape, views, winograd,
};

/// All rules, in the order in which they are tried. The list is repeated until no rule fires.
///
/// Functions written out as several nodes are recognised first, before other rules rewrite parts of them. Arithmetic
/// is folded before activations are moved, because those would otherwise stand between. Activations are moved before
/// additions, so that the activation before an addition is already in its producer. Both come before the epilogues of
/// concatenations, so that their parts are computed by as few nodes as possible. Padding is in the convolutions before
/// their signals are framed, and those are framed before layers of their slices would read the same signal.
pub static RULES: [Rule; 36] = [
    mask::RULE,
    identity::RULE,
    same_size::RULE,
    concat_zeros::RULE,
    concat_slices::RULE,
    common_subexpression::RULE,
    transpose_chain::RULE,
    transpose_reshape::RULE,
    reshape_chain::RULE,
    heads::RULE,
    transpose_matrix::RULE,
    bounds::RULE,
    fake_quant::RULE,
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
    frames::RULE,
    layer_slices::RULE,
    activation::RULE,
    residual::RULE,
    softmax_sum::RULE,
    concat_activation::RULE,
    flatten::RULE,
    constant_epilogue::RULE,
    move_chain::RULE,
    // Last, because the other rules leave nodes without readers.
    dead::RULE,
];

/// Passes after all rules. They are part of no set, since each trades something for speed: `winograd` memory, `separable`
/// the time until the first answer.
const BY_NAME: [&str; 2] = [winograd::NAME, separable::NAME];

/// Searches for nodes that need no step.
const IN_PLACE: [&str; 2] = [views::NAME, in_place::NAME];

/// Error for an unknown rule name.
///
/// ```
/// use texpool::rewrite::Rules;
///
/// let error = Rules::without(&["softmax", "magic"]).unwrap_err();
/// assert_eq!(error.name, "magic");
/// assert!(error.to_string().starts_with("no rewrite rule is called `magic`; there are: mask, identity, "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no rewrite rule is called `{name}`; there are: {}", Rules::names().collect::<Vec<_>>().join(", "))]
#[non_exhaustive]
pub struct UnknownRule {
    /// The name.
    pub name: String,
}

/// The set of enabled rules.
///
/// ```
/// use texpool::rewrite::Rules;
///
/// assert!(Rules::all().is_on("softmax-unshifted") && !Rules::default().is_on("softmax-unshifted"));
/// assert!(Rules::exact().is_on("activation") && !Rules::exact().is_on("arithmetic"));
/// assert!(Rules::names().all(|name| !Rules::none().is_on(name)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    on: [bool; RULES.len()],
    by_name: [bool; BY_NAME.len()],
    in_place: [bool; IN_PLACE.len()],
}

impl Rules {
    /// All rules, including those that [change the range](Numerics::ChangesRange) of results. Without `winograd` and
    /// `separable`, which are on only by name.
    pub const fn all() -> Self {
        Self { on: [true; RULES.len()], by_name: [false; BY_NAME.len()], in_place: [true; IN_PLACE.len()] }
    }

    /// No rules: the graph stays as in the file.
    pub const fn none() -> Self {
        Self { on: [false; RULES.len()], by_name: [false; BY_NAME.len()], in_place: [false; IN_PLACE.len()] }
    }

    /// Rules that keep every bit, so that the results match the file's nodes exactly.
    pub fn exact() -> Self {
        Self::up_to(Numerics::Exact)
    }

    /// Rules with a numerical effect of at most `most`. Includes the searches for nodes that need no step.
    ///
    /// ```
    /// use texpool::rewrite::{Numerics, Rules};
    ///
    /// let rules = Rules::up_to(Numerics::Reassociates);
    /// assert!(rules.is_on("residual") && rules != Rules::all());
    /// ```
    pub fn up_to(most: Numerics) -> Self {
        let mut rules = Self::all();
        for (on, rule) in rules.on.iter_mut().zip(&RULES) {
            *on = rule.numerics <= most;
        }
        rules
    }

    /// Only the named rules.
    ///
    /// # Errors
    /// If a name is unknown.
    ///
    /// ```
    /// use texpool::rewrite::Rules;
    ///
    /// let rules = Rules::only(&["identity", "dead"])?;
    /// assert!(rules.is_on("dead") && !rules.is_on("residual"));
    /// let error = Rules::only(&["magic"]).unwrap_err();
    /// assert!(error.to_string().starts_with("no rewrite rule is called `magic`"));
    /// # Ok::<(), texpool::rewrite::UnknownRule>(())
    /// ```
    pub fn only(names: &[&str]) -> Result<Self, UnknownRule> {
        Self::none().switch(names, true)
    }

    /// All rules except the named ones.
    ///
    /// # Errors
    /// If a name is unknown.
    ///
    /// ```
    /// use texpool::rewrite::Rules;
    ///
    /// assert!(!Rules::without(&["softmax"])?.is_on("softmax"));
    /// # Ok::<(), texpool::rewrite::UnknownRule>(())
    /// ```
    pub fn without(names: &[&str]) -> Result<Self, UnknownRule> {
        Self::all().switch(names, false)
    }

    /// These rules and the named ones.
    ///
    /// # Errors
    /// If a name is unknown.
    ///
    /// ```
    /// use texpool::rewrite::Rules;
    ///
    /// let rules = Rules::default().with(&["winograd"])?;
    /// assert!(rules.is_on("winograd") && rules.is_on("residual") && !Rules::default().is_on("winograd"));
    /// # Ok::<(), texpool::rewrite::UnknownRule>(())
    /// ```
    pub fn with(self, names: &[&str]) -> Result<Self, UnknownRule> {
        self.switch(names, true)
    }

    /// Names of all rules, followed by `winograd`, `separable` and the searches for
    /// [nodes that need no step](texpool_ops::graph::NodeSet).
    pub fn names() -> impl Iterator<Item = &'static str> {
        RULES.iter().map(|rule| rule.name).chain(BY_NAME).chain(IN_PLACE)
    }

    /// Returns whether a rule is enabled.
    pub fn is_on(&self, name: &str) -> bool {
        let others = BY_NAME.iter().zip(self.by_name).chain(IN_PLACE.iter().zip(self.in_place));
        self.iter().any(|rule| rule.name == name) || others.into_iter().any(|(&other, on)| on && other == name)
    }

    /// The enabled rules that change the graph, in the order in which they are tried.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'static Rule> {
        RULES.iter().zip(self.on).filter_map(|(rule, on)| on.then_some(rule))
    }

    fn switch(mut self, names: &[&str], on: bool) -> Result<Self, UnknownRule> {
        for &name in names {
            let rule = RULES.iter().position(|rule| rule.name == name);
            let by_name = BY_NAME.iter().position(|&other| other == name);
            let in_place = IN_PLACE.iter().position(|&other| other == name);
            match (rule, by_name, in_place) {
                (Some(rule), ..) => self.on[rule] = on,
                (_, Some(pass), _) => self.by_name[pass] = on,
                (_, _, Some(search)) => self.in_place[search] = on,
                (None, None, None) => return Err(UnknownRule { name: name.into() }),
            }
        }
        Ok(self)
    }
}

impl Default for Rules {
    /// Rules whose results differ from the file's by rounding at most.
    fn default() -> Self {
        Self::up_to(Numerics::Reassociates)
    }
}
