//! A file that a network is run on, known by its first bytes and not by its name.

use super::{IoError, dtype, element::Target, foreign, npy, picture, source::FileOrPipe};
use crate::{plan::TexelFormat, tensor::convert::TensorSpec};
use image::RgbImage;
use std::path::{Path, PathBuf};

/// Bytes by which arrays and pictures are told apart, and what else a file is.
const SIGNATURE: usize = 64;

/// An array or a picture, opened and known, but not yet read: so a pipe can be either, and nothing is read that is too
/// large or of the wrong kind.
#[derive(Debug)]
pub struct InputFile {
    path: PathBuf,
    bytes: Vec<u8>,
    source: FileOrPipe,
}

impl InputFile {
    /// Opens a plain file, or a pipe, which is waited for a few seconds until somebody writes to it.
    ///
    /// # Errors
    /// [`IoError::Read`], [`IoError::NotAFile`].
    pub fn open(path: &Path) -> Result<Self, IoError> {
        let mut source = FileOrPipe::open(path)?;
        let mut bytes = Vec::new();
        source.fill(&mut bytes, SIGNATURE)?;
        Ok(Self { path: path.into(), bytes, source })
    }

    /// Whether it begins as an array of NumPy's, or is called one and begins as nothing that is known.
    pub fn is_array(&self) -> bool {
        let named = self.path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
        // What is called an array and is empty or damaged is refused as one, and not as a picture.
        self.bytes.starts_with(npy::MAGIC) || (named && picture::kind(&self.bytes).is_none())
    }

    /// Reads an array; see [`read_npy`](super::read_npy).
    ///
    /// # Errors
    /// Those of [`read_npy`](super::read_npy).
    pub fn array(self, expected: &[usize]) -> Result<Vec<f32>, IoError> {
        self.elements(expected, Target::Floats)
    }

    /// Reads an array as the values of a model's input, which lie in texels of `format`.
    ///
    /// Elements of any numeric type are taken whose value the input's own type holds: no fraction becomes an integer, and
    /// nothing wraps around or is cut off. Integers that texels would round are refused too. Of a quantised input, elements
    /// of its own type are the integers that the model stores, and floats are the real numbers that those stand for; other
    /// integers could be either, and are refused.
    ///
    /// # Errors
    /// Those of [`read_npy`](super::read_npy).
    pub fn input(self, spec: TensorSpec<'_>, format: TexelFormat) -> Result<Vec<f32>, IoError> {
        self.elements(spec.dims, Target::Input(spec, format))
    }

    /// Reads an array that another runtime computed for a model's output. Where the output is quantised and the elements
    /// are of its own type, they are the integers that the model stores; all others are taken as by
    /// [`read_npy`](super::read_npy).
    ///
    /// # Errors
    /// Those of [`read_npy`](super::read_npy).
    pub fn output(self, spec: TensorSpec<'_>) -> Result<Vec<f32>, IoError> {
        self.elements(spec.dims, Target::Output(spec))
    }

    fn elements(mut self, expected: &[usize], target: Target<'_>) -> Result<Vec<f32>, IoError> {
        // Never more than the input needs, whatever the file states or however long it is.
        let elements = expected.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).unwrap_or(usize::MAX);
        let most = elements.saturating_mul(dtype::MAX_ELEMENT_BYTES).saturating_add(npy::MAX_HEADER_BYTES);
        self.source.fill(&mut self.bytes, most)?;
        npy::parse(&self.path, &self.bytes, expected, target)
    }

    /// Reads a picture; see [`read_picture`](super::read_picture).
    ///
    /// # Errors
    /// Those of [`read_picture`](super::read_picture).
    pub fn picture(mut self) -> Result<RgbImage, IoError> {
        // Asked before the rest is read: what cannot be a picture may be of any length.
        let kind = picture::kind(&self.bytes).ok_or_else(|| IoError::NotAPicture {
            path: self.path.clone(),
            reason: foreign::described(&self.path, &self.bytes),
        })?;
        self.source.fill_whole(&mut self.bytes, picture::MAX_FILE_BYTES)?;
        picture::decode(&self.path, kind, &self.bytes)
    }
}

/// Reads an array whose extents must be `expected`, as 32-bit floats in dense row-major order.
///
/// Floats of 16, 32 and 64 bits are read, integers of 8 to 64 bits and booleans, little and big endian, row-major and
/// column-major. A float of 64 bits is rounded; an integer must be one that 32-bit floats have. Nothing is scaled: a
/// byte 255 is 255.0. At most eight bytes an element are read, however long the file is.
///
/// # Errors
/// [`IoError::Read`], [`IoError::NotAFile`], [`IoError::NotAnArray`], [`IoError::DType`], [`IoError::Shape`],
/// [`IoError::Element`].
pub fn read_npy(path: &Path, expected: &[usize]) -> Result<Vec<f32>, IoError> {
    InputFile::open(path)?.array(expected)
}

/// Decodes a PNG or JPEG and turns it the way up that its camera noted; transparent pixels are drawn on white, grey becomes
/// three equal channels. A file that is cut short or damaged is an error, though much of it could be shown.
///
/// A picture of more than 64 Mi pixels is made smaller while it is decoded, to a half or a quarter of its extents, so that
/// beside the file (512 MiB at most) its pixels take 192 MiB at most, twice that for a JPEG. The limit is 1024 Mi pixels;
/// interlaced PNG and progressive JPEG files, which have to be held whole, end at 64 Mi pixels.
///
/// # Errors
/// [`IoError::Read`], [`IoError::NotAFile`], [`IoError::NotAPicture`], [`IoError::TooLarge`], [`IoError::Malformed`].
pub fn read_picture(path: &Path) -> Result<RgbImage, IoError> {
    InputFile::open(path)?.picture()
}
