//! Long searches of the command, with a progress bar, a deadline, and handling of Ctrl-C. The first Ctrl-C ends the
//! search, and a second one ends the command.

use std::{
    ops::ControlFlow,
    sync::{
        Once,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use crate::report::grouped;
use texpool::{
    compile::option_text::parse_deadline,
    plan::{Progress, SearchControl},
};

/// Exit code that a shell reports for a command ended by Ctrl-C.
pub(super) const INTERRUPTED: u8 = 130;

/// Searches shorter than this show no bar, which would only flicker.
const BAR_DELAY: Duration = Duration::from_millis(500);

/// No search is running: Ctrl-C ends the command.
const IDLE: u8 = 0;
/// A search is running: Ctrl-C ends the search.
const SEARCHING: u8 = 1;
/// Ctrl-C was pressed during a search.
const PRESSED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(IDLE);
static HANDLER: Once = Once::new();

/// Returns true if Ctrl-C was pressed during a search. The printed plan is then possibly not the best one.
pub(super) fn interrupted() -> bool {
    STATE.load(Ordering::Relaxed) == PRESSED
}

/// Runs a search with a progress bar, until `deadline` or Ctrl-C ends it.
pub(super) fn with_progress<T>(deadline: Option<Duration>, search: impl FnOnce(&SearchControl<'_>) -> T) -> T {
    HANDLER.call_once(|| {
        // If no handler can be installed, Ctrl-C ends the command as usual.
        let _ = ctrlc::set_handler(pressed);
    });
    // Only changes the idle state, so that after Ctrl-C all later searches end at once too.
    let _ = STATE.compare_exchange(IDLE, SEARCHING, Ordering::Relaxed, Ordering::Relaxed);
    let mut bar = StageBar { begun: Instant::now(), bar: None };
    let mut tell = |progress: Progress| {
        bar.show(progress);
        if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let control = SearchControl::new().progress(&mut tell);
    let control = match deadline {
        Some(deadline) => control.timeout(deadline),
        None => control,
    };
    let found = search(&control);
    let _ = STATE.compare_exchange(SEARCHING, IDLE, Ordering::Relaxed, Ordering::Relaxed);
    found
}

/// Handles Ctrl-C.
fn pressed() {
    if STATE.compare_exchange(SEARCHING, PRESSED, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        super::out::stderr(&"\nending the search; Ctrl-C again ends texpool");
    } else {
        std::process::exit(INTERRUPTED.into());
    }
}

/// A bar on standard error with the stage, the smallest plan found, and the time.
struct StageBar {
    begun: Instant,
    bar: Option<ProgressBar>,
}

impl StageBar {
    fn show(&mut self, progress: Progress) {
        if self.begun.elapsed() < BAR_DELAY {
            return;
        }
        // The bar appears late, but shows the time since the search began.
        let bar = self.bar.get_or_insert_with(|| ProgressBar::new(0).with_elapsed(self.begun.elapsed()));
        let template = match progress.total {
            0 => "{spinner} {prefix}: {pos}{msg}, {elapsed}",
            _ => "{prefix} [{bar:30}] {pos}/{len}{msg}, {elapsed}",
        };
        if bar.prefix() != progress.stage {
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_prefix(progress.stage);
        }
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        bar.set_message(progress.best.map_or_else(String::new, |best| format!(", best {}", grouped(best))));
    }
}

impl Drop for StageBar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A deadline set by the user; `None` means unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadline(pub(super) Option<Duration>);

/// Parses a deadline in seconds, or `none`.
pub(super) fn deadline(text: &str) -> Result<Deadline, String> {
    parse_deadline(text).map(Deadline)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Deadline, deadline};

    /// Checks that `--deadline` rejects negative and infinite numbers without a panic.
    #[test]
    fn deadlines_are_seconds_or_none() {
        assert_eq!(deadline("none"), Ok(Deadline(None)));
        assert_eq!(deadline("0"), Ok(Deadline(Some(Duration::ZERO))));
        assert_eq!(deadline("1.5"), Ok(Deadline(Some(Duration::from_millis(1500)))));
        for wrong in ["", "-1", "nan", "inf", "1e300", "soon"] {
            let said = deadline(wrong).unwrap_err();
            assert!(said.contains("seconds"), "{wrong}: {said}");
        }
    }
}
