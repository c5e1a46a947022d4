//! Files in and out of a run: pictures, `.npy` arrays, and writing whole files or none.
//! Knows no model, no graph and no device; speaks of extents and dense values only.

mod atomic;
mod npy;
mod output;
mod picture;

use std::path::{Path, PathBuf};

pub use atomic::write_whole;
pub use npy::{read_npy, write_npy};
pub use output::{output_file_name, write_outputs};
pub use picture::{Fit, Frame, Prepared, Range, prepare, read_picture, write_png};

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The operating system refused to open or read it.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The operating system refused to create or write it; nothing of it is left.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The device is full; nothing of the file is left.
    #[error("cannot write {}: the disk is full; free some space or choose another folder", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// It does not decode as a picture.
    #[error("{} is not a picture that can be read ({reason}); give a PNG or a JPEG, or a .npy array", path.display())]
    NotAPicture {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        reason: String,
    },
    /// It does not start as an array of NumPy's, or ends too early.
    #[error("{} is not a .npy array that can be read ({reason})", path.display())]
    NotAnArray {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The array's element type is not one that holds a network's input.
    #[error("{} holds {got}; the input takes {expected}", path.display())]
    DType {
        /// The file.
        path: PathBuf,
        /// Element types that are taken.
        expected: &'static str,
        /// The element type found, as NumPy writes it.
        got: String,
    },
    /// The array's extents are not the input's.
    #[error("{} has shape {got:?}; the input takes {expected:?}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// Extents of the input.
        expected: Vec<usize>,
        /// Extents found.
        got: Vec<u64>,
    },
    /// A picture was given for an input that is no picture.
    #[error("{} is a picture, but the input takes {expected:?}, not [1, height, width, 3] or [1, 3, height, width]; give a .npy array", path.display())]
    NotAPictureInput {
        /// The file.
        path: PathBuf,
        /// Extents of the input.
        expected: Vec<usize>,
    },
}

impl IoError {
    pub(crate) fn read(path: &Path, source: std::io::Error) -> Self {
        Self::Read { path: path.into(), source }
    }

    pub(crate) fn write(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::StorageFull => Self::DiskFull { path: path.into() },
            _ => Self::Write { path: path.into(), source },
        }
    }
}
