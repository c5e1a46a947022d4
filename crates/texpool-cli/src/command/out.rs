//! Prints results. A reader that closes the pipe early is not an error.

use super::error::CliError;
use crate::io::printable_lines;
use serde::Serialize;
use std::{
    fmt::Display,
    io::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
};

/// Version of the forms of the JSON documents, which `docs/schema` describes. It rises when a field goes or changes its
/// meaning, and not when one is added.
pub(super) const SCHEMA: u32 = 1;

/// True if a document is on standard output, which never takes a second one.
static ANSWERED: AtomicBool = AtomicBool::new(false);

/// A JSON document: the version of its form, then its contents.
#[derive(Serialize)]
struct Document<'a, T> {
    schema: u32,
    /// A structure with named fields. A list has no place beside the version, so it needs a name first.
    #[serde(flatten)]
    contents: &'a T,
}

/// Prints text. It may contain names from models and files, so control characters are escaped.
pub(super) fn text(text: &str) -> Result<(), CliError> {
    raw(&printable_lines(text))
}

/// Prints the JSON document of this call, with the version of its form as the first field. `contents` has named fields.
pub(super) fn json(contents: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(&Document { schema: SCHEMA, contents })? + "\n";
    ANSWERED.store(true, Ordering::Relaxed);
    raw(&text)
}

/// Returns true if the JSON document of this call has been printed.
pub(super) fn is_answered() -> bool {
    ANSWERED.load(Ordering::Relaxed)
}

/// Prints a text of texpool's own, such as a script, as it is.
pub(super) fn verbatim(text: &str) -> Result<(), CliError> {
    raw(text)
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
