//! Statistics on the times of runs.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Median of some times, and the range of all but the fastest and slowest tenths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) p10: f64,
    pub(super) p90: f64,
}

impl Spread {
    /// Returns the spread of measured values.
    pub(super) fn of(values: &[f64]) -> Self {
        let at = |share| percentile(values, share);
        Self { median: at(0.5), p10: at(0.1), p90: at(0.9) }
    }
}

/// Converts a duration to milliseconds.
pub(super) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Returns the percentile of values at `share`, with linear interpolation between neighbours.
pub(super) fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = share * sorted.len().saturating_sub(1) as f64;
    let (below, above) = (at.floor() as usize, at.ceil() as usize);
    match (sorted.get(below), sorted.get(above)) {
        (Some(a), Some(b)) => a + (b - a) * at.fract(),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentiles_lie_between_neighbours() {
        let values = [4.0, 1.0, 3.0, 2.0, 5.0];
        assert_eq!([0.0, 0.1, 0.5, 0.9, 1.0].map(|s| percentile(&values, s)), [1.0, 1.4, 3.0, 4.6, 5.0]);
        assert_eq!(percentile(&[7.0], 0.9), 7.0);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }
}
