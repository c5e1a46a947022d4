//! An input file, identified by its first bytes and not by its name.

use super::{
    IoError, dtype,
    element::Target,
    foreign,
    npy::{self, Expected},
    picture,
    source::FileOrPipe,
};
use image::RgbImage;
use std::path::{Path, PathBuf};
use texpool_model::tensor::convert::TensorSpec;
use texpool_plan::TexelFormat;

/// Number of bytes that identify arrays, pictures and other kinds of files.
const SIGNATURE: usize = 64;

/// An array or a picture that was opened and identified, but not read yet. A pipe can therefore be either, and files
/// of the wrong kind or size are refused early.
#[derive(Debug)]
pub struct InputFile {
    path: PathBuf,
    bytes: Vec<u8>,
    source: FileOrPipe,
}

impl InputFile {
    /// Opens a plain file or a pipe. Waits a few seconds for a pipe's writer.
    ///
    /// # Errors
    /// [`IoError::Read`], [`IoError::NotAFile`].
    pub fn open(path: &Path) -> Result<Self, IoError> {
        let mut source = FileOrPipe::open(path)?;
        let mut bytes = Vec::new();
        source.fill(&mut bytes, SIGNATURE)?;
        Ok(Self { path: path.into(), bytes, source })
    }

    /// Returns true if the file begins like a NumPy array, or has the extension of one and an unknown beginning.
    pub fn is_array(&self) -> bool {
        let named = self.path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
        // An empty or damaged file with the extension of an array is refused as an array and not as a picture.
        self.bytes.starts_with(npy::MAGIC) || (named && picture::kind(&self.bytes).is_none())
    }

    /// Reads an array; see [`read_npy`](super::read_npy).
    ///
    /// # Errors
    /// Those of [`read_npy`](super::read_npy).
    pub fn array(self, expected: &[usize]) -> Result<Vec<f32>, IoError> {
        Ok(self.elements(Expected { dims: expected, bounded_axes: &[] }, Target::Floats)?.1)
    }

    /// Reads an array as values of a model's input, for texels of `format`.
    ///
    /// Accepts elements of any numeric type if the input's own type can hold their values: fractions do not become
    /// integers, and nothing wraps around or is truncated. Integers that texels would round are refused too. For a
    /// quantised input, elements of its own type are stored integers, and floats are the real numbers that those
    /// stand for. Other integers are ambiguous and therefore refused.
    ///
    /// Along `bounded_axes`, the array may have any extent from one to that of `spec`. Returns its extents and values.
    ///
    /// # Errors
    /// Those of [`read_npy`](super::read_npy).
    pub fn input(
        self,
        spec: TensorSpec<'_>,
        bounded_axes: &[usize],
        format: TexelFormat,
    ) -> Result<(Vec<usize>, Vec<f32>), IoError> {
        self.elements(Expected { dims: spec.dims, bounded_axes }, Target::Input(spec, format))
    }

    /// Reads an array that another runtime computed for a model's output. For a quantised output, elements of its own
    /// type are stored integers. All other arrays are read like [`read_npy`](super::read_npy).
    ///
    /// # Errors
    /// Those of [`read_npy`](super::read_npy).
    pub fn output(self, spec: TensorSpec<'_>) -> Result<Vec<f32>, IoError> {
        Ok(self.elements(Expected { dims: spec.dims, bounded_axes: &[] }, Target::Output(spec))?.1)
    }

    fn elements(mut self, expected: Expected<'_>, target: Target<'_>) -> Result<(Vec<usize>, Vec<f32>), IoError> {
        // Reads at most the bytes that the input needs, whatever the file states.
        let elements = expected.dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).unwrap_or(usize::MAX);
        let most = elements.saturating_mul(dtype::MAX_ELEMENT_BYTES).saturating_add(npy::MAX_HEADER_BYTES);
        self.source.fill(&mut self.bytes, most)?;
        npy::parse(&self.path, &self.bytes, expected, target)
    }

    /// Reads a picture; see [`read_picture`](super::read_picture).
    ///
    /// # Errors
    /// Those of [`read_picture`](super::read_picture).
    pub fn picture(mut self) -> Result<RgbImage, IoError> {
        // Checked before the rest is read, because a file that is not a picture may have any length.
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
/// Supports floats of 16, 32 and 64 bits, integers of 8 to 64 bits and booleans, little and big endian, row-major and
/// column-major. Rounds 64-bit floats; integers must be exact in 32-bit floats. Nothing is scaled: a byte 255 is
/// 255.0. Reads at most eight bytes per element, however long the file is.
///
/// # Errors
/// [`IoError::Read`], [`IoError::NotAFile`], [`IoError::NotAnArray`], [`IoError::DType`], [`IoError::Shape`],
/// [`IoError::Element`].
pub fn read_npy(path: &Path, expected: &[usize]) -> Result<Vec<f32>, IoError> {
    InputFile::open(path)?.array(expected)
}

/// Decodes a PNG or JPEG and rotates it upright as the camera noted. Transparent pixels are drawn on white, and grey
/// becomes three equal channels. A truncated or damaged file is an error, even if much of it could be shown.
///
/// A picture of more than 64 Mi pixels is made smaller while it is decoded, to a half or a quarter of its extents, so that
/// beside the file (512 MiB at most) its pixels take 192 MiB at most, twice that for a JPEG, and three times that for an
/// interlaced PNG or a JPEG of four inks. The limit is 1024 Mi pixels; progressive JPEG files, which have to be held whole,
/// end at 64 Mi pixels.
///
/// # Errors
/// [`IoError::Read`], [`IoError::NotAFile`], [`IoError::NotAPicture`], [`IoError::TooLarge`], [`IoError::Malformed`].
pub fn read_picture(path: &Path) -> Result<RgbImage, IoError> {
    InputFile::open(path)?.picture()
}
