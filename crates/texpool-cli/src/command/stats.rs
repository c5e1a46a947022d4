//! Statistics on the times of runs.

use std::time::Duration;

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
