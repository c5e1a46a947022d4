//! A row for each of several models, with a progress bar. A model that fails costs no other its row.

use super::{error::CliError, hint, progress};
use crate::io::printable;
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::{OsStr, OsString};

/// Names of models with the errors that they failed by.
pub(super) type FailedModels = Vec<(String, String)>;

/// Makes the rows, until Ctrl-C ends a search.
pub(super) fn rows<T>(models: &[OsString], row: impl Fn(&OsStr) -> Result<T, CliError>) -> (Vec<T>, FailedModels) {
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    let bar = ProgressBar::new(models.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{prefix:<30} [{bar:30}] {pos}/{len}") {
        bar.set_style(style);
    }
    for model in models {
        let name = printable(model).to_string();
        bar.set_prefix(name.clone());
        match row(model) {
            Ok(row) => rows.push(row),
            Err(error) => failed.push((name, format!("{error}{}", hint::hint(&error)))),
        }
        bar.inc(1);
        if progress::interrupted() {
            break;
        }
    }
    bar.finish_and_clear();
    (rows, failed)
}

/// Returns the error for models without a row, after the table with the reasons was printed.
pub(super) fn check(failed: &FailedModels) -> Result<(), CliError> {
    let names: Vec<&str> = failed.iter().map(|(model, _)| model.as_str()).collect();
    if names.is_empty() { Ok(()) } else { Err(CliError::Rows(names.join(", "))) }
}
