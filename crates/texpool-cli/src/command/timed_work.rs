//! Work that is repeated for a given time, with a progress bar.

use super::{
    error::CliError,
    progress,
    setup_model::{check_interrupted, report_progress},
};
use std::time::{Duration, Instant};

/// Minimum number of runs, however short the given time is. With fewer, the tenth and ninetieth percentiles would be
/// meaningless.
pub(super) const MIN_RUNS: usize = 5;

/// Repeats `work` until `time` is over, at least `least` times, or until it returns false. The bar moves between the
/// repetitions.
///
/// Fails if Ctrl-C is pressed, because times of a part would look like those of the whole.
pub(super) fn for_time(
    doing: &'static str,
    time: Duration,
    least: usize,
    mut work: impl FnMut() -> Result<bool, CliError>,
) -> Result<(), CliError> {
    let begun = Instant::now();
    let tenths = |time: Duration| usize::try_from(time.as_millis() / 100).unwrap_or(usize::MAX);
    progress::with_progress(None, |control| {
        let mut done = 0;
        while done < least || begun.elapsed() < time {
            let (at, of) = (tenths(begun.elapsed()), tenths(time));
            if report_progress(control, doing, at.min(of), of).is_break() || !work()? {
                break;
            }
            done += 1;
        }
        Ok::<(), CliError>(())
    })?;
    check_interrupted(doing)
}
