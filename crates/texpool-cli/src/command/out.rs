//! Prints results. A reader that closes the pipe early is not an error.

use super::error::CliError;
use crate::io::printable_lines;
use serde::Serialize;
use std::{
    fmt::Display,
    io::{self, Write},
};

/// Prints text. It may contain names from models and files, so control characters are escaped.
pub(super) fn text(text: &str) -> Result<(), CliError> {
    raw(&printable_lines(text))
}

/// Prints one JSON document.
pub(super) fn json(value: &impl Serialize) -> Result<(), CliError> {
    raw(&(serde_json::to_string_pretty(value)? + "\n"))
}

fn raw(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(CliError::Print(e)),
        _ => Ok(()),
    }
}

/// Prints a message to the user on standard error. Failures are ignored, because they cannot be reported.
pub(super) fn stderr(message: &impl Display) {
    let _ = io::stderr().lock().write_all(format!("{}\n", printable_lines(&message.to_string())).as_bytes());
}
