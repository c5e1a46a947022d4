//! Long searches of the command, with a progress bar, a deadline, and handling of Ctrl-C. The first Ctrl-C ends the
//! search, and a second one ends the command.

use std::{
    ops::ControlFlow,
    sync::{
        Once,
        atomic::{AtomicU8, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{io::printable, report::grouped};
use texpool_compile::option_text::parse_deadline;
use texpool_plan::{Progress, SearchControl};

/// Exit code that a shell reports for a command ended by Ctrl-C.
pub(super) const INTERRUPTED: u8 = 130;

/// Work shorter than this shows no bar, which would only flicker.
const BAR_DELAY: Duration = Duration::from_millis(500);
/// Time between two drawings of a bar that is told nothing.
const TICK: Duration = Duration::from_millis(200);

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
    for_row(None, deadline, search)
}

/// Runs a search like [`with_progress`]. The bar names the row of a table that the search is for.
pub(super) fn for_row<T>(
    row: Option<&str>,
    deadline: Option<Duration>,
    search: impl FnOnce(&SearchControl<'_>) -> T,
) -> T {
    HANDLER.call_once(|| {
        // If no handler can be installed, Ctrl-C ends the command as usual.
        let _ = ctrlc::set_handler(pressed);
    });
    // Only changes the idle state, so that after Ctrl-C all later searches end at once too.
    let _ = STATE.compare_exchange(IDLE, SEARCHING, Ordering::Relaxed, Ordering::Relaxed);
    let mut bar = LateBar::new(row, "searching");
    let mut tell = |progress: Progress| {
        bar.show(progress);
        if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let control = SearchControl::new().progress(&mut tell);
    let control = match deadline {
        Some(deadline) => control.timeout(deadline),
        None => control,
    };
    let outcome = search(&control);
    let _ = STATE.compare_exchange(SEARCHING, IDLE, Ordering::Relaxed, Ordering::Relaxed);
    outcome
}

/// Handles Ctrl-C.
fn pressed() {
    if STATE.compare_exchange(SEARCHING, PRESSED, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        super::out::stderr(&"\nending the search; Ctrl-C again ends texpool");
    } else {
        std::process::exit(INTERRUPTED.into());
    }
}

/// Does work that reports no progress, with a spinner if it takes long.
pub(super) fn during<T>(stage: &'static str, work: impl FnOnce() -> T) -> T {
    let _bar = LateBar::new(None, stage);
    work()
}

/// A bar on standard error with the stage, the smallest plan found, and the time. It appears after [`BAR_DELAY`], and only
/// if standard error is a terminal.
struct LateBar {
    bar: ProgressBar,
    /// Written before the stage: the row that the work is for.
    row: String,
    stage: &'static str,
    /// The thread that shows the bar, and the sender whose end ends its wait; `None` without a terminal.
    shown_by: Option<(Sender<()>, JoinHandle<()>)>,
}

impl LateBar {
    fn new(row: Option<&str>, stage: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let row = row.map(|row| format!("{}: ", printable(row))).unwrap_or_default();
        let mut late = Self { bar, row, stage, shown_by: None };
        late.begin(stage, 0);
        if !ProgressDrawTarget::stderr().is_hidden() {
            let (ended, end) = mpsc::channel();
            let bar = late.bar.clone();
            // Without the thread there is no bar, which changes no result.
            let spawned = thread::Builder::new().spawn(move || {
                if end.recv_timeout(BAR_DELAY) == Err(RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    // The work may report nothing for a long time.
                    bar.enable_steady_tick(TICK);
                }
            });
            late.shown_by = spawned.ok().map(|thread| (ended, thread));
        }
        late
    }

    /// Begins a stage of `total` parts; of unknown length if that is 0.
    fn begin(&mut self, stage: &'static str, total: u64) {
        let template = match total {
            0 => "{spinner} {prefix}{msg}, {elapsed}",
            _ => "{prefix} [{bar:30}] {pos}/{len}{msg}, {elapsed}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.stage = stage;
        self.bar.set_prefix(format!("{}{stage}", self.row));
    }

    fn show(&mut self, progress: Progress) {
        if self.stage != progress.stage {
            self.begin(progress.stage, progress.total);
        }
        let best = progress.best.map_or_else(String::new, |best| format!(", best {}", grouped(best)));
        if progress.total == 0 {
            self.bar.set_message(if progress.done == 0 { best } else { format!(": {}{best}", progress.done) });
            return;
        }
        self.bar.set_length(progress.total);
        self.bar.set_position(progress.done);
        self.bar.set_message(best);
    }
}

impl Drop for LateBar {
    fn drop(&mut self) {
        if let Some((ended, thread)) = self.shown_by.take() {
            drop(ended);
            // It has nothing left to do. A bar that has failed is not worth an error.
            let _ = thread.join();
            self.bar.finish_and_clear();
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
            let message = deadline(wrong).unwrap_err();
            assert!(message.contains("seconds"), "{wrong}: {message}");
        }
    }
}
