//! Progress reports of a download.

#[cfg(unix)]
use super::interrupt;
use indicatif::{ProgressBar, ProgressStyle};
use std::{cell::RefCell, time::Duration};

/// Receives the progress of a fetch.
pub trait Progress {
    /// Another process is fetching; this one waits for it.
    fn waiting(&self);
    /// A download starts, from the package `what`, with `bytes` expected bytes.
    fn start(&self, what: &str, bytes: u64);
    /// The number of bytes received up to now.
    fn arrived(&self, bytes: u64);
    /// The download has ended, successfully or not.
    fn end(&self);
    /// No bytes were received for some seconds. `command` still waits for its registry, and is stopped after
    /// `patience`.
    fn silent(&self, command: &str, patience: Duration) {
        tracing::warn!(command, ?patience, "nothing arrives");
    }
    /// Returns true to stop the client and discard the download. Called many times a second from the start to the
    /// end.
    fn stopped(&self) -> bool {
        false
    }
}

/// Ignores all progress reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn waiting(&self) {}
    fn start(&self, _: &str, _: u64) {}
    fn arrived(&self, _: u64) {}
    fn end(&self) {}
    fn silent(&self, _: &str, _: Duration) {}
}

/// A progress bar on standard error, or one plain line per download if that is not a terminal. On Unix, an interrupt
/// from the keyboard or a request to terminate stops the current download, which then returns
/// [`super::FetchError::Interrupted`]. At other times these signals have their usual effect.
#[derive(Debug, Default)]
pub struct Bar(RefCell<Option<ProgressBar>>);

impl Progress for Bar {
    fn waiting(&self) {
        eprintln!("waiting for another texpool that is fetching");
    }

    fn start(&self, what: &str, bytes: u64) {
        let bar = ProgressBar::new(bytes);
        if bar.is_hidden() {
            eprintln!("fetching {what} ({:.1} MB)", bytes as f64 / 1e6);
        }
        let template = "fetching {msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        self.0.replace(Some(bar));
        #[cfg(unix)]
        interrupt::defer();
    }

    fn arrived(&self, bytes: u64) {
        if let Some(bar) = self.0.borrow().as_ref() {
            bar.set_position(bytes.min(bar.length().unwrap_or(bytes)));
        }
    }

    fn end(&self) {
        if let Some(bar) = self.0.take() {
            bar.finish();
        }
        #[cfg(unix)]
        interrupt::restore();
    }

    fn silent(&self, command: &str, patience: Duration) {
        let words = format!("`{command}` waits for an answer of its registry, {} s at most", patience.as_secs());
        match self.0.borrow().as_ref().filter(|bar| !bar.is_hidden()) {
            Some(bar) => bar.println(words),
            None => eprintln!("{words}"),
        }
    }

    #[cfg(unix)]
    fn stopped(&self) -> bool {
        interrupt::received()
    }
}
