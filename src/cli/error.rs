//! What makes the command fail: the errors of the rooms below, as they are.

use crate::{
    dataflow::DataflowError, fetch::FetchError, gpu::GpuError, import::ImportError, io::IoError, plan::PlanError,
    prepare::PrepareError, report::PublishedError, setup::SetupError,
};
use std::path::PathBuf;

/// What makes the command fail.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Io(#[from] IoError),
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("{}: {source}", path.display())]
    Import { path: PathBuf, source: Box<ImportError> },
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("{}: {source}", path.display())]
    Records { path: PathBuf, source: PlanError },
    #[error(transparent)]
    Dataflow(#[from] DataflowError),
    #[error(transparent)]
    Published(#[from] PublishedError),
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error("`{text}` is no file, and nothing that can be fetched is called that; there are: {known}")]
    NoSuchFile { text: String, known: String },
    #[error("the model takes {expected} inputs ({shapes}), {found} were given; say --input once for each, or never")]
    InputCount { expected: usize, found: usize, shapes: String },
    #[error("{0}")]
    Diverges(String),
    #[error("cannot write to standard output: {0}")]
    Print(std::io::Error),
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}
