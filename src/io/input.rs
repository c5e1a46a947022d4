//! A file that a network is run on, known by its first bytes and not by its name.

use super::{IoError, dtype, npy, picture, source::FileOrPipe};
use image::RgbImage;
use std::path::{Path, PathBuf};

/// Bytes by which arrays and pictures are told apart.
const SIGNATURE: usize = 8;

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
    pub fn array(mut self, expected: &[usize]) -> Result<Vec<f32>, IoError> {
        // Never more than the input needs, whatever the file states or however long it is.
        let elements = expected.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).unwrap_or(usize::MAX);
        let most = elements.saturating_mul(dtype::MAX_ELEMENT_BYTES).saturating_add(npy::MAX_HEADER_BYTES);
        self.source.fill(&mut self.bytes, most)?;
        npy::parse(&self.path, &self.bytes, expected)
    }

    /// Reads a picture; see [`read_picture`](super::read_picture).
    ///
    /// # Errors
    /// Those of [`read_picture`](super::read_picture).
    pub fn picture(mut self) -> Result<RgbImage, IoError> {
        // Asked before the rest is read: what cannot be a picture may be of any length.
        let kind = picture::kind(&self.bytes)
            .ok_or_else(|| IoError::NotAPicture { path: self.path.clone(), reason: described(&self.bytes).into() })?;
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

/// Decodes a PNG or JPEG and turns it the way up that its camera noted; transparency is dropped, grey becomes three
/// equal channels. A file that is cut short or damaged is an error, though much of it could be shown.
///
/// # Errors
/// [`IoError::Read`], [`IoError::NotAFile`], [`IoError::NotAPicture`], [`IoError::TooLarge`], [`IoError::Malformed`].
pub fn read_picture(path: &Path) -> Result<RgbImage, IoError> {
    InputFile::open(path)?.picture()
}

/// What a file that is no picture begins as.
fn described(bytes: &[u8]) -> &'static str {
    const KNOWN: [(&[u8], &str); 8] = [
        (npy::MAGIC, "it is a NumPy array"),
        (b"GIF8", "it is a GIF"),
        (b"RIFF", "it is a WebP picture or a sound"),
        (b"BM", "it is a BMP"),
        (b"II*\0", "it is a TIFF"),
        (b"MM\0*", "it is a TIFF"),
        (b"PK\x03\x04", "it is a zip archive, as .npz is"),
        (b"<", "it is SVG, XML or a web page"),
    ];
    match bytes {
        [] => "it is empty",
        // FlatBuffers have their identifier in bytes four to seven.
        _ if bytes.get(4..8) == Some(b"TFL3") => "it is a TensorFlow Lite model",
        _ => KNOWN.iter().find(|(start, _)| bytes.starts_with(start)).map_or("it begins as neither", |(_, what)| what),
    }
}
