//! Prints results. A reader that closes the pipe early is not an error.

use super::error::CliError;
use crate::io::printable_lines;
use serde::Serialize;
use std::{
    fmt::Display,
    io::{self, Write},
};

/// Prints text. Names in it are the models' and the files': whatever would steer the terminal is escaped.
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

/// Tells the user something beside the answer. Where standard error is closed there is nobody to tell.
pub(super) fn stderr(message: &impl Display) {
    let _ = io::stderr().lock().write_all(format!("{}\n", printable_lines(&message.to_string())).as_bytes());
}
