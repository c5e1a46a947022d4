//! Errors of the command: errors of the layers below, unchanged, and usage errors.

use super::suggestion;
use crate::{
    fetch::FetchError,
    io::{IoError, printable},
    setup::SetupError,
};
use std::{ffi::OsString, fmt, path::PathBuf};
use texpool_compile::{CompileError, SavedPlanError};
use texpool_dataflow::DataflowError;
use texpool_gpu::GpuError;
use texpool_model::{
    import::{ImportError, UnresolvedDim, micro::MicroError},
    tensor::ConvertError,
};
use texpool_ops::graph::Tensor;
use texpool_plan::PlanError;

/// Reasons for a failure of the command.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Io(#[from] IoError),
    #[error("{role} `{}`: {source}", printable(name))]
    Tensor { role: &'static str, name: String, source: Box<IoError> },
    #[error("input `{}`: {source}", printable(input))]
    Value { input: String, source: ConvertError },
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Unreadable(Box<ImportError>),
    #[error("{}{}: {source}", printable(path), WithFlags(dims))]
    Import { path: PathBuf, dims: String, source: Box<ImportError> },
    /// Extents that the model leaves open. `line` is the command line with values for all of them.
    #[error("{}: {}", printable(path), ImportError::UnresolvedDim(open.clone()))]
    OpenExtents { path: PathBuf, open: Vec<UnresolvedDim>, line: String },
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error("{}: {source}", printable(path))]
    SavedPlan { path: PathBuf, source: Box<SavedPlanError> },
    #[error("{} is no saved plan; `texpool compile MODEL -o FILE` writes one", printable(path))]
    NotAPlan { path: PathBuf },
    #[error("{} is no answer of `texpool bench --json` of this version: {source}", printable(path))]
    NotABench { path: PathBuf, source: serde_json::Error },
    #[error("{} is about `{}`, and this is `{}`", printable(path), printable(found), printable(wanted))]
    OtherModel { path: PathBuf, found: String, wanted: String },
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("{}: {source}", printable(path))]
    Records { path: PathBuf, source: PlanError },
    #[error("{}: {source}", printable(path))]
    Micro { path: PathBuf, source: Box<MicroError> },
    #[error(transparent)]
    Dataflow(#[from] DataflowError),
    /// The answer is already printed; only the exit code remains.
    #[error("exit code {0}")]
    Answered(u8),
    #[error("{doing} was interrupted; nothing was written")]
    Interrupted { doing: &'static str },
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(
        "there is no file `{}`, and nothing that can be fetched is called that; `texpool models list` shows what there is{}",
        printable(text),
        suggestion::text(near)
    )]
    NoSuchFile { text: OsString, near: Option<String> },
    #[error(
        "there is no GPU adapter; without one, a software driver does: on Debian or Ubuntu, apt-get install \
         mesa-vulkan-drivers libvulkan1"
    )]
    NoAdapter,
    #[error("no adapter is called `{}`; there are: {}{}", printable(name), printable(there), suggestion::text(near))]
    NoSuchAdapter { name: String, near: Option<String>, there: String },
    #[error(
        "nothing that can be fetched is called `{}`; `texpool models list` shows what there is{}",
        printable(name),
        suggestion::text(near)
    )]
    NoSuchName { name: String, near: Option<String> },
    #[error("there is no file `{}`", printable(path))]
    NoSuchPath { path: PathBuf },
    #[error("`{}` is a folder; name a file in it, or something from `texpool models list`", printable(path))]
    Folder { path: PathBuf },
    #[error("the model takes {expected} inputs ({shapes}), {files} were given; say --input once for each, or never")]
    InputCount { expected: usize, files: usize, shapes: String },
    #[error("no row of the table could be made for: {0}; the table says why")]
    Rows(String),
    #[error("{0}")]
    Diverges(String),
    #[error("cannot write to standard output: {0}")]
    Print(std::io::Error),
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl CliError {
    /// Creates the error for a file that cannot be used as an input.
    pub(super) fn input(tensor: &Tensor, source: IoError) -> Self {
        Self::Tensor { role: "input", name: tensor.name.clone(), source: Box::new(source) }
    }

    /// Creates the error for a file that cannot be compared with an output.
    pub(super) fn output(tensor: &Tensor, source: IoError) -> Self {
        Self::Tensor { role: "output", name: tensor.name.clone(), source: Box::new(source) }
    }

    /// Returns the kind of the error for programs, as the JSON of an error states it. `docs/command.md` lists the kinds.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            error if error.is_interrupt() => "interrupted",
            Self::Usage(_) => "usage",
            Self::NoSuchFile { .. } | Self::NoSuchName { .. } | Self::NoSuchPath { .. } | Self::Folder { .. } => {
                "not_found"
            }
            Self::Fetch(_) => "fetch",
            Self::Io(_) | Self::NotABench { .. } | Self::OtherModel { .. } => "file",
            Self::Tensor { .. } | Self::Value { .. } | Self::InputCount { .. } => "input",
            Self::Unreadable(_) | Self::Import { .. } | Self::OpenExtents { .. } | Self::Micro { .. } => "model",
            Self::Compile(_) | Self::Plan(_) | Self::Records { .. } | Self::Dataflow(_) => "plan",
            Self::SavedPlan { .. } | Self::NotAPlan { .. } => "saved_plan",
            Self::NoAdapter | Self::NoSuchAdapter { .. } | Self::Setup(_) | Self::Gpu(_) => "device",
            Self::Rows(_) => "rows",
            Self::Diverges(_) => "diverges",
            Self::Interrupted { .. } | Self::Answered(_) => "interrupted",
            Self::Print(_) | Self::Json(_) => "output",
        }
    }

    /// Returns true if Ctrl-C caused the error.
    pub(super) fn is_interrupt(&self) -> bool {
        match self {
            Self::Interrupted { .. } => true,
            Self::Fetch(error) => error.is_interrupt(),
            _ => false,
        }
    }
}

/// Formats the `--dim` flags of the user, if any.
struct WithFlags<'a>(&'a str);

impl fmt::Display for WithFlags<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " with {}", printable(self.0)) }
    }
}
