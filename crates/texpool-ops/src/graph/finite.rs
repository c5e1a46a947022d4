//! Counts values that are not finite.

use std::fmt;

/// Numbers of NaNs and infinities among some values.
///
/// ```
/// use texpool::graph::NotFinite;
///
/// let counts = NotFinite::of(&[1.0, f32::NAN, f32::INFINITY, f32::INFINITY]);
/// assert_eq!((counts.total(), counts.to_string().as_str()), (3, "1 NaN, 2 +inf"));
/// assert!(NotFinite::of(&[1.0, -0.0]).is_none());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NotFinite {
    /// NaN.
    pub nan: usize,
    /// Positive infinity.
    pub positive: usize,
    /// Negative infinity.
    pub negative: usize,
}

impl NotFinite {
    /// Counts the values that are not finite.
    pub fn of(values: &[f32]) -> Self {
        let mut counts = Self::default();
        // Nearly always all values are finite. This check needs no branch per value.
        if values.iter().fold(true, |finite, value| finite & value.is_finite()) {
            return counts;
        }
        for value in values.iter().filter(|value| !value.is_finite()) {
            let count = match value {
                value if value.is_nan() => &mut counts.nan,
                value if *value > 0.0 => &mut counts.positive,
                _ => &mut counts.negative,
            };
            *count += 1;
        }
        counts
    }

    /// Total number of values that are not finite.
    pub const fn total(&self) -> usize {
        self.nan + self.positive + self.negative
    }

    /// Returns whether all values are finite.
    pub const fn is_none(&self) -> bool {
        self.total() == 0
    }
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [(self.nan, "NaN"), (self.positive, "+inf"), (self.negative, "-inf")];
        let there = kinds.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {kind}"));
        f.write_str(&there.collect::<Vec<_>>().join(", "))
    }
}
