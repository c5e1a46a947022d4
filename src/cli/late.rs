//! A progress bar that shows only where things take longer than a second.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// Shorter things pass without a bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that may never be seen.
pub(super) struct Late {
    what: &'static str,
    begun: Instant,
    bar: Option<ProgressBar>,
}

impl Late {
    pub(super) fn new(what: &'static str) -> Self {
        Self { what, begun: Instant::now(), bar: None }
    }

    /// Shows how far it is, if it is time to.
    pub(super) fn at(&mut self, done: usize, of: usize) {
        if self.begun.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(of as u64).with_elapsed(self.begun.elapsed());
            if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len}, {elapsed}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_message(self.what);
            bar
        });
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
