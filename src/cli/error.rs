//! What makes the command fail: the errors of the rooms below, as they are.

use crate::{fetch::FetchError, io::IoError};

/// What makes the command fail.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Io(#[from] IoError),
    #[error("cannot write to standard output: {0}")]
    Print(std::io::Error),
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}
