//! Why files could not be read or written.

use super::printable;
use crate::graph::ElementType;
use std::{
    io,
    path::{Path, PathBuf},
};

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The operating system refused to open or read it.
    #[error("cannot read {}: {source}", printable(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The operating system refused to create or write it; nothing of it is left.
    #[error("cannot write {}: {source}", printable(path))]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The device is full; nothing of the file is left.
    #[error("cannot write {}: the disk is full; free some space or choose another folder", printable(path))]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// It is neither a plain file nor a pipe.
    #[error("cannot read {}: it is {what}; give a file", printable(path))]
    NotAFile {
        /// What was given.
        path: PathBuf,
        /// What it is: "a folder", "a device", "a socket".
        what: &'static str,
    },
    /// More bytes than are read of such a file.
    #[error("{} has more than {} MiB, which is more than is read of such a file", printable(path), most >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most bytes that are read.
        most: usize,
    },
    /// Text was expected.
    #[error("{} is not text (byte {at} is not UTF-8)", printable(path))]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first byte that is not.
        at: usize,
    },
    /// A picture's file is cut short, or what is checked in it is wrong.
    #[error("{} is cut short or damaged ({what}); copy or download it again", printable(path))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// A picture was to be written under a name that does not end as its format does.
    #[error("cannot write {}: the picture is {}, so its name ends in .{format}; call it {}, and convert that if need be",
        printable(path), format.to_uppercase(), printable(instead))]
    PictureName {
        /// The name given.
        path: PathBuf,
        /// The ending of what is written: `svg`, `png`.
        format: &'static str,
        /// A name that would do.
        instead: PathBuf,
    },
    /// Two files of a call are the same one, and it would be written.
    #[error(
        "cannot write {what} to {}: that is the same file as {other}, {}, which would be lost; name another file",
        printable(path),
        printable(other_path)
    )]
    SameFile {
        /// The file that was to be written.
        path: PathBuf,
        /// What was to be written: "the picture".
        what: String,
        /// What the file is already: "the model".
        other: String,
        /// The path by which it was named as that.
        other_path: PathBuf,
    },
    /// It does not decode as a picture.
    #[error("{} is not a picture that can be read: {reason}; give a PNG or a JPEG, or a .npy array", printable(path))]
    NotAPicture {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        reason: String,
    },
    /// It does not start as an array of NumPy's, or ends too early.
    #[error("{} is not a .npy array that can be read ({reason})", printable(path))]
    NotAnArray {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The array's element type is not one that is taken.
    #[error("{} is an array of {got}; {instead}", printable(path))]
    DType {
        /// The file.
        path: PathBuf,
        /// The elements found, in words.
        got: String,
        /// Which are taken, and how to save them.
        instead: String,
    },
    /// An element that does not fit the type of the tensor that it is for.
    #[error("{}: element {at:?} is {value}, {why}", printable(path))]
    Element {
        /// The file.
        path: PathBuf,
        /// The element's place along each axis.
        at: Vec<usize>,
        /// The element, as a decimal number.
        value: String,
        /// The type, why it does not hold the element, and what to do.
        why: String,
    },
    /// The array's extents are others than those that are asked for.
    #[error("{} has shape {got:?} instead of {expected:?}", printable(path))]
    Shape {
        /// The file.
        path: PathBuf,
        /// Extents that are asked for.
        expected: Vec<usize>,
        /// Extents found.
        got: Vec<u64>,
    },
    /// A picture whose pixels become values that an input of integers cannot hold.
    #[error(
        "{}: its pixels become values such as {value}, and the input takes integers of type {element_type}; take them as \
         they are, 0 to 255, or give a .npy array",
        printable(path)
    )]
    Pixels {
        /// The file.
        path: PathBuf,
        /// The first value that is none of the type.
        value: String,
        /// The input's type.
        element_type: ElementType,
    },
    /// A picture was given for an input that is no picture.
    #[error(
        "{} is a picture, but the input takes {expected:?}, not [1, height, width, 3] or [1, 3, height, width]; give a .npy array",
        printable(path)
    )]
    NotAPictureInput {
        /// The file.
        path: PathBuf,
        /// Extents of the input.
        expected: Vec<usize>,
    },
}

impl IoError {
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.into(), source }
    }

    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull => Self::DiskFull { path: path.into() },
            _ => Self::Write { path: path.into(), source },
        }
    }
}
