//! Printing answers. A reader who closes the pipe early has seen enough; that is no failure.

use super::CliError;
use serde::Serialize;
use std::io::{self, Write};

/// Prints text as it is.
pub(super) fn text(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(CliError::Print(e)),
        _ => Ok(()),
    }
}

/// Prints one JSON document.
pub(super) fn json(value: &impl Serialize) -> Result<(), CliError> {
    text(&(serde_json::to_string_pretty(value)? + "\n"))
}
