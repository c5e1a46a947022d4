//! Warnings of a run about problems that its results do not show, and their texts.

use std::fmt;

use texpool_ops::graph::NotFinite;
use texpool_plan::printable;

/// Problems that a run encountered but its results do not show.
///
/// ```no_run
/// # fn example(warnings: texpool::RunWarnings) {
/// use texpool::Clamp;
///
/// if warnings.count(Clamp::Saturated) > 1000 {
///     // Too many for 16 bits: compile the model with 32-bit texels.
///     for place in warnings.places(Clamp::Saturated) {
///         eprintln!("{place}: {} values", place.count);
///     }
/// }
/// for output in &warnings.not_finite {
///     eprintln!("{}: {}", output.output, output.found); // `scores: 2 NaN, 1 +inf`
/// }
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunWarnings {
    /// Outputs that were read and contain non-finite values, in the model's order.
    pub not_finite: Vec<NotFiniteOutput>,
    /// Values and indices that were clamped to the nearest valid one: inputs first, then constants of the model,
    /// then nodes in graph order.
    pub clamped: Vec<ClampedValues>,
}

/// An output that contains non-finite values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotFiniteOutput {
    /// Its name.
    pub output: String,
    /// Number of non-finite values by kind.
    pub found: NotFinite,
}

/// Reasons to replace a value by the nearest valid one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clamp {
    /// Finite values beyond the range of texels were stored as the nearest value in it: beyond 65504, the largest 16-bit
    /// float, or beyond the integers of an 8-bit input.
    Saturated,
    /// Indices outside the axis were replaced by the nearest index inside.
    IndexOutside,
}

impl Clamp {
    /// All variants, in the order in which kernels count them.
    pub(crate) const ALL: [Self; texpool_ops::kernels::COUNTS_PER_NODE] = [Self::Saturated, Self::IndexOutside];
}

/// Clamped values of one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClampedValues {
    /// The reason.
    pub clamp: Clamp,
    /// Index in the model file of the node that computes the tensor; `None` for an input and for a constant.
    pub node: Option<usize>,
    /// Operator of that node, `input` for an input, or `constant` for a constant, such as weights.
    pub op: &'static str,
    /// The tensor's name.
    pub tensor: String,
    /// Number of clamped values or indices.
    pub count: u64,
}

impl fmt::Display for ClampedValues {
    /// Formats the place only, without the count.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node {
            Some(node) => write!(f, "node {node} ({}, `{}`)", self.op, printable(&self.tensor)),
            None => write!(f, "{} `{}`", self.op, printable(&self.tensor)),
        }
    }
}

impl RunWarnings {
    /// Returns true without warnings.
    pub fn is_empty(&self) -> bool {
        self.not_finite.is_empty() && self.clamped.is_empty()
    }

    /// Returns the number of values or indices clamped for this reason in the whole run.
    pub fn count(&self, clamp: Clamp) -> u64 {
        self.places(clamp).map(|place| place.count).sum()
    }

    /// Iterates over the places where values were clamped for this reason.
    pub fn places(&self, clamp: Clamp) -> impl Iterator<Item = &ClampedValues> {
        self.clamped.iter().filter(move |place| place.clamp == clamp)
    }

    /// Describes the clamped values, one sentence per reason.
    ///
    /// ```
    /// let none = texpool::RunWarnings::default();
    /// assert!(none.is_empty() && none.clamped_text().is_empty() && none.to_string().is_empty());
    /// ```
    pub fn clamped_text(&self) -> Vec<String> {
        let sentence = |clamp: Clamp| {
            let first = self.places(clamp).next()?;
            let count = self.count(clamp);
            let plural = |one, many| if count == 1 { one } else { many };
            Some(match clamp {
                Clamp::Saturated => format!(
                    "{count} {} beyond the range of the precision and {} stored as the nearest in it, first in {first}",
                    plural("value is", "values are"),
                    plural("was", "were"),
                ),
                Clamp::IndexOutside => format!(
                    "{count} {} outside the axis and {} replaced by the nearest inside, first in {first}",
                    plural("index is", "indices are"),
                    plural("was", "were"),
                ),
            })
        };
        Clamp::ALL.into_iter().filter_map(sentence).collect()
    }
}

/// Formats all warnings as sentences, for a log.
impl fmt::Display for RunWarnings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outputs = self.not_finite.iter().map(|NotFiniteOutput { output, found }| {
            format!("output `{}` has values that are not finite: {found}", printable(output))
        });
        f.write_str(&outputs.chain(self.clamped_text()).collect::<Vec<_>>().join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_name_how_many_and_where_first() {
        let place =
            |clamp, node, op, tensor: &str, count| ClampedValues { clamp, node, op, tensor: tensor.into(), count };
        let found = NotFinite { nan: 2, ..NotFinite::default() };
        let warnings = RunWarnings {
            not_finite: vec![NotFiniteOutput { output: "y".into(), found }],
            clamped: vec![
                place(Clamp::Saturated, None, "input", "x", 1),
                place(Clamp::Saturated, Some(3), "MUL", "square", 40),
                place(Clamp::IndexOutside, Some(5), "GATHER", "row", 1),
            ],
        };
        assert_eq!((warnings.count(Clamp::Saturated), warnings.count(Clamp::IndexOutside)), (41, 1));
        assert_eq!(
            warnings.to_string(),
            "output `y` has values that are not finite: 2 NaN; 41 values are beyond the range of the precision and were \
             stored as the nearest in it, first in input `x`; 1 index is outside the axis and was replaced by the nearest inside, first \
             in node 5 (GATHER, `row`)"
        );
        assert!(RunWarnings::default().is_empty() && !warnings.is_empty());
        assert_eq!(RunWarnings::default().to_string(), "");
    }
}
