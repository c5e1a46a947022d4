//! Statistics of an input's or output's values: range, and number of values that are not finite.

use super::digits::rounded;
use serde::Serialize;
use std::fmt;
use texpool_ops::graph::NotFinite;

/// Significant digits of the numbers in the text.
const DIGITS: usize = 3;

/// Number of values that are not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NotFiniteCounts {
    /// NaN.
    pub nan: usize,
    /// Positive infinity.
    pub positive_infinity: usize,
    /// Negative infinity.
    pub negative_infinity: usize,
}

impl From<NotFinite> for NotFiniteCounts {
    fn from(counts: NotFinite) -> Self {
        Self { nan: counts.nan, positive_infinity: counts.positive, negative_infinity: counts.negative }
    }
}

/// Summary of a tensor's values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueSummary {
    /// Smallest finite value, if there is one.
    pub min: Option<f32>,
    /// Largest finite value, if there is one.
    pub max: Option<f32>,
    /// Mean of the finite values, if there is one.
    pub mean: Option<f32>,
    /// Number of values.
    pub count: usize,
    /// Number of values that are not finite.
    pub not_finite: NotFiniteCounts,
}

impl ValueSummary {
    /// Computes the statistics of these values.
    pub fn from_slice(values: &[f32]) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let not_finite = NotFinite::of(values);
        let many = values.len() - not_finite.total();
        // Summed in 64 bits, where 32-bit floats neither overflow nor lose small summands.
        let sum: f64 = finite().map(f64::from).sum();
        Self {
            min: finite().reduce(f32::min),
            max: finite().reduce(f32::max),
            mean: (many > 0).then(|| (sum / many as f64) as f32),
            count: values.len(),
            not_finite: not_finite.into(),
        }
    }

    /// Describes the values that are not finite; empty if all are finite.
    pub fn warning(&self) -> Option<String> {
        let NotFiniteCounts { nan, positive_infinity: positive, negative_infinity: negative } = self.not_finite;
        let counts = NotFinite { nan, positive, negative };
        (!counts.is_none()).then(|| format!("{} of {} values are not finite: {counts}", counts.total(), self.count))
    }
}

impl fmt::Display for ValueSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max, self.mean) {
            (Some(min), Some(max), Some(mean)) => {
                let [min, max, mean] = [min, max, mean].map(|value| rounded(value.into(), DIGITS));
                write!(f, "{min} to {max}, mean {mean}")?;
            }
            _ if self.count == 0 => f.write_str("empty")?,
            _ => f.write_str("no finite value")?,
        }
        self.warning().map_or(Ok(()), |warning| write!(f, "; {warning}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_finite_values_are_counted_and_left_out_of_the_range() {
        let values = ValueSummary::from_slice(&[1.0, f32::NAN, -3.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
        assert_eq!((values.min, values.max, values.mean), (Some(-3.0), Some(1.0), Some(-1.0)));
        let text = "-3 to 1, mean -1; 4 of 6 values are not finite: 2 NaN, 1 +inf, 1 -inf";
        assert_eq!(values.to_string(), text);
        let none = ValueSummary::from_slice(&[f32::NAN; 3]);
        assert_eq!((none.min, none.max, none.mean), (None, None, None));
        assert_eq!(none.to_string(), "no finite value; 3 of 3 values are not finite: 3 NaN");
        assert_eq!(ValueSummary::from_slice(&[]).to_string(), "empty");
        assert_eq!(ValueSummary::from_slice(&[0.5]).warning(), None);
        assert_eq!(ValueSummary::from_slice(&[4.312e-8, 1234.5678]).to_string(), "4.31e-8 to 1230, mean 617");
    }
}
