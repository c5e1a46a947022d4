//! Errors as the command says them: text on standard error, and also a JSON document on standard output if `--json` was
//! given and no document is there yet.

use super::{error::CliError, hint, out};
use crate::io::printable_lines;
use clap::error::ErrorKind;
use serde::Serialize;
use std::{ffi::OsString, process::ExitCode};

/// The JSON document of an error.
#[derive(Serialize)]
struct Failure {
    error: ErrorDocument,
}

/// An error for programs.
#[derive(Serialize)]
struct ErrorDocument {
    /// See [`CliError::kind`].
    kind: &'static str,
    message: String,
    /// What to do, if it is not in the message already.
    hint: Option<String>,
}

/// Says an error of a subcommand.
pub(super) fn say(error: &CliError, json: bool) {
    let hint = hint::hint(error);
    out::stderr(&format!("error: {error}{hint}"));
    if json {
        let hint = hint.trim_start_matches([';', ' ', '\n']).trim_end();
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        document(error.kind(), error.to_string(), hint);
    }
}

/// Says clap's message: help and versions on standard output, errors on standard error. Returns the exit code.
pub(super) fn answer(refused: &clap::Error) -> ExitCode {
    // clap prints arguments unescaped and in colours. If an argument contains control characters, the whole message is
    // escaped instead.
    let foreign = |arg: OsString| arg.to_str().is_none_or(|arg| printable_lines(arg) != arg);
    let text = refused.render().to_string();
    if refused.use_stderr() && std::env::args_os().skip(1).any(foreign) {
        out::stderr(&text.trim_end());
    } else {
        // A failure to print cannot be reported anywhere.
        let _ = refused.print();
    }
    let json = std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if json && refused.use_stderr() {
        let (message, hint) = parts(&text, refused.kind());
        document("usage", message, hint);
    }
    ExitCode::from(u8::try_from(refused.exit_code()).unwrap_or(2))
}

/// Takes clap's text apart: the message, and the tips.
fn parts(text: &str, kind: ErrorKind) -> (String, Option<String>) {
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return ("no subcommand is given".to_owned(), Some("texpool --help lists them".to_owned()));
    }
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let message = paragraphs.next().unwrap_or_default().trim_start_matches("error: ");
    let tips = paragraphs.filter_map(|paragraph| paragraph.strip_prefix("tip: ")).collect::<Vec<_>>().join("\n");
    (message.to_owned(), (!tips.is_empty()).then_some(tips))
}

/// Prints the document, unless the answer is printed already: standard output has one document.
fn document(kind: &'static str, message: String, hint: Option<String>) {
    if !out::is_answered() {
        // If standard output cannot be written to, the text on standard error has to do.
        let _ = out::json(&Failure { error: ErrorDocument { kind, message, hint } });
    }
}
