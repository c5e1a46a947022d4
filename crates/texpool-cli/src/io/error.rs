//! Errors of reading and writing files.

use super::printable;
use std::{
    io,
    path::{Path, PathBuf},
};
use texpool_ops::graph::ElementType;

/// Reasons for which a file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The operating system could not open or read the file.
    #[error("cannot read {}: {source}", printable(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// Error from the operating system.
        source: io::Error,
    },
    /// The operating system could not create or write the file. Nothing of it is left.
    #[error("cannot write {}: {source}", printable(path))]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Error from the operating system.
        source: io::Error,
    },
    /// The device is full. Nothing of the file is left.
    #[error("cannot write {}: the disk is full; free some space or choose another folder", printable(path))]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// The path is neither a plain file nor a pipe.
    #[error("cannot read {}: it is {what}; give a file", printable(path))]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// Kind of object: "a folder", "a device", "a socket".
        what: &'static str,
    },
    /// The file is larger than the limit for its kind.
    #[error("{} has more than {} MiB, which is more than is read of such a file", printable(path), most >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit, in bytes.
        most: usize,
    },
    /// The file is not text.
    #[error("{} is not text (byte {at} is not UTF-8)", printable(path))]
    NotText {
        /// The file.
        path: PathBuf,
        /// Position of the first byte that is not UTF-8.
        at: usize,
    },
    /// A picture file is truncated or fails a check.
    #[error("{} is cut short or damaged ({what}); copy or download it again", printable(path))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The defect.
        what: String,
    },
    /// The name of a picture to write does not have the extension of its format.
    #[error("cannot write {}: the picture is {}, so its name ends in .{format}; call it {}, and convert that if need be",
        printable(path), format.to_uppercase(), printable(instead))]
    PictureName {
        /// The given name.
        path: PathBuf,
        /// Required extension: `svg`, `png`.
        format: &'static str,
        /// A suggested name.
        instead: PathBuf,
    },
    /// Two files of a call are the same one, and it would be written.
    #[error(
        "cannot write {what} to {}: that is the same file as {other}, {}, which would be lost; name another file",
        printable(path),
        printable(other_path)
    )]
    SameFile {
        /// The file to write.
        path: PathBuf,
        /// Role of the file to write: "the picture".
        what: String,
        /// Role that the file already has: "the model".
        other: String,
        /// The path under which it has that role.
        other_path: PathBuf,
    },
    /// The file cannot be decoded as a picture.
    #[error("{} is not a picture that can be read: {reason}; give a PNG or a JPEG, or a .npy array", printable(path))]
    NotAPicture {
        /// The file.
        path: PathBuf,
        /// Message from the decoder.
        reason: String,
    },
    /// The file does not start like a NumPy array, or ends too early.
    #[error("{} is not a .npy array that can be read ({reason})", printable(path))]
    NotAnArray {
        /// The file.
        path: PathBuf,
        /// The defect.
        reason: String,
    },
    /// The array's element type is not supported.
    #[error("{} is an array of {got}; {instead}", printable(path))]
    DType {
        /// The file.
        path: PathBuf,
        /// Description of the elements.
        got: String,
        /// Supported types, and how to save them.
        instead: String,
    },
    /// An element does not fit the type of its tensor.
    #[error("{}: element {at:?} is {value}, {why}", printable(path))]
    Element {
        /// The file.
        path: PathBuf,
        /// Index of the element along each axis.
        at: Vec<usize>,
        /// The element, as a decimal number.
        value: String,
        /// The type, the reason why it cannot hold the element, and the remedy.
        why: String,
    },
    /// The array's extents differ from the expected ones.
    #[error("{} has shape {got:?} instead of {}", printable(path), with_bound(expected, .bounded_axes))]
    Shape {
        /// The file.
        path: PathBuf,
        /// Expected extents.
        expected: Vec<usize>,
        /// Extents in the file.
        got: Vec<u64>,
        /// Axes along which any extent up to the expected one fits.
        bounded_axes: Vec<usize>,
    },
    /// The pixels of a picture become values that an input of integers cannot hold.
    #[error(
        "{}: its pixels become values such as {value}, and the input takes integers of type {element_type}; take them as \
         they are, 0 to 255, or give a .npy array",
        printable(path)
    )]
    Pixels {
        /// The file.
        path: PathBuf,
        /// The first value that does not fit.
        value: String,
        /// Type of the input.
        element_type: ElementType,
    },
    /// The input does not take pictures.
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
    /// A part was to be cut out that is outside the picture.
    #[error(
        "{} is {width}x{height}, and the part that was to be cut out begins at {x}, {y}, outside of it",
        printable(path)
    )]
    Crop {
        /// The file.
        path: PathBuf,
        /// Width of the picture.
        width: u32,
        /// Height of the picture.
        height: u32,
        /// Left edge of the part.
        x: u32,
        /// Top edge of the part.
        y: u32,
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

/// Writes extents, with a sign before those that are bounds: `[1, ≤128]`.
pub fn with_bound(dims: &[usize], bounded_axes: &[usize]) -> String {
    let extent = |(axis, extent): (usize, &usize)| {
        if bounded_axes.contains(&axis) { format!("≤{extent}") } else { extent.to_string() }
    };
    let extents: Vec<String> = dims.iter().enumerate().map(extent).collect();
    format!("[{}]", extents.join(", "))
}
