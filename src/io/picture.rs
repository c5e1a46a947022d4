//! Pictures to a network's input, and back: decoding, fitting, scaling of values, and where a point lies in the photo.

use super::{IoError, check_picture_name, complete, write_atomic};
use image::{
    DynamicImage, ImageDecoder, ImageFormat, Limits, Rgb, RgbImage,
    codecs::png::PngDecoder,
    imageops::{self, FilterType},
    metadata::Orientation,
};
use std::{io::Cursor, path::Path};
use zune_jpeg::{
    JpegDecoder,
    zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions},
};

/// How a picture of one aspect becomes one of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Fit {
    /// Width and height are scaled each by itself.
    #[default]
    Stretch,
    /// The largest middle part of the right aspect is kept.
    Centre,
    /// The whole picture, with black bars.
    Letterbox,
}

/// The values that the bytes 0 to 255 become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Range {
    /// -1 to 1: `v / 127.5 - 1`.
    #[default]
    Signed,
    /// 0 to 1: `v / 255`.
    Unit,
    /// 0 to 255, as they are.
    Raw,
    /// `(v / 255 - mean) / deviation` with the mean and deviation of red, green and blue over ImageNet's photos, as
    /// PyTorch's classifiers take them.
    Imagenet,
}

/// Means and deviations of red, green and blue over ImageNet's photos, of values from 0 to 1.
const IMAGENET: [[f32; 2]; 3] = [[0.485, 0.229], [0.456, 0.224], [0.406, 0.225]];

impl Range {
    fn apply(self, byte: u8, channel: usize) -> f32 {
        match self {
            Self::Signed => f32::from(byte) / 127.5 - 1.0,
            Self::Unit => f32::from(byte) / 255.0,
            Self::Raw => f32::from(byte),
            Self::Imagenet => {
                let [mean, deviation] = IMAGENET[channel % 3];
                (f32::from(byte) / 255.0 - mean) / deviation
            }
        }
    }
}

/// The rectangle of the photo that the network sees, in pixels; parts outside the photo are black bars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Left edge.
    pub x: f32,
    /// Top edge.
    pub y: f32,
    /// Width.
    pub width: f32,
    /// Height.
    pub height: f32,
}

impl Frame {
    /// A point given in shares of the network's input (0 to 1), in pixels of the photo.
    pub fn at(&self, x: f32, y: f32) -> [f32; 2] {
        [self.x + x * self.width, self.y + y * self.height]
    }
}

/// A picture as a network takes it.
#[derive(Clone, Debug)]
pub struct ImageTensor {
    /// Dense `[1, height, width, 3]` values.
    pub values: Vec<f32>,
    /// What part of the photo they show.
    pub frame: Frame,
}

impl ImageTensor {
    /// The values as dense `[1, 3, height, width]`.
    pub fn planar(&self) -> Vec<f32> {
        (0..3).flat_map(|channel| self.values.iter().skip(channel).step_by(3).copied()).collect()
    }
}

/// The largest file that is read as a picture: 256 MiB, more than a photo of 100 million pixels takes.
pub(super) const MAX_FILE_BYTES: usize = 256 << 20;

/// A format of pictures that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Png,
    Jpeg,
}

/// The format of a file that begins so.
pub(super) fn kind(bytes: &[u8]) -> Option<Kind> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Kind::Png),
        [0xff, 0xd8, 0xff, ..] => Some(Kind::Jpeg),
        _ => None,
    }
}

/// The pixels of a picture out of the bytes of its file.
pub(super) fn decode(path: &Path, kind: Kind, bytes: &[u8]) -> Result<RgbImage, IoError> {
    let damaged = |what: String| IoError::Malformed { path: path.into(), what };
    let complete = match kind {
        Kind::Png => complete::png(bytes),
        Kind::Jpeg => complete::jpeg(bytes),
    };
    complete.map_err(damaged)?;
    let (mut picture, orientation) = match kind {
        Kind::Png => png(bytes),
        Kind::Jpeg => jpeg(bytes),
    }
    .map_err(|reason| IoError::NotAPicture { path: path.into(), reason })?;
    picture.apply_orientation(orientation);
    match (picture.width(), picture.height()) {
        (0, _) | (_, 0) => Err(damaged("it has no pixels".into())),
        _ => Ok(picture.into_rgb8()),
    }
}

/// A few bytes can claim any extents; what would not fit in the decoders' own limit is refused before it is decoded.
fn limits(decoded: u64) -> Result<Limits, String> {
    let mut limits = Limits::default();
    limits.reserve(decoded).map_err(|e| e.to_string())?;
    Ok(limits)
}

fn png(bytes: &[u8]) -> Result<(DynamicImage, Orientation), String> {
    let said = |e: image::ImageError| e.to_string();
    let mut decoder = PngDecoder::with_limits(Cursor::new(bytes), Limits::default()).map_err(said)?;
    // What the pixels take is not the decoder's to use.
    decoder.set_limits(limits(decoder.total_bytes())?).map_err(said)?;
    // A note that cannot be read is no reason to refuse the picture.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    Ok((DynamicImage::from_decoder(decoder).map_err(said)?, orientation))
}

/// By the decoder that `image` uses, in its strict mode, which `image` does not offer: else what is damaged is grey.
fn jpeg(bytes: &[u8]) -> Result<(DynamicImage, Orientation), String> {
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        // Bytes are what is bounded, below; a picture may be long and narrow.
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|e| e.to_string())?;
    let (width, height) = decoder.dimensions().ok_or("it states no extents")?;
    limits((width as u64).saturating_mul(height as u64).saturating_mul(3))?;
    let exif = decoder.exif().and_then(|exif| Orientation::from_exif_chunk(exif));
    let pixels = decoder.decode().map_err(|e| e.to_string())?;
    let picture = RgbImage::from_raw(width as u32, height as u32, pixels).ok_or("its pixels are not of its extents")?;
    Ok((picture.into(), exif.unwrap_or(Orientation::NoTransforms)))
}

/// Resizes a picture to `width` by `height` (bilinear, and averaging where it shrinks) and scales its values.
pub fn preprocess(picture: &RgbImage, width: u32, height: u32, fit: Fit, range: Range) -> ImageTensor {
    let (w, h) = picture.dimensions();
    let whole = Frame { x: 0.0, y: 0.0, width: w as f32, height: h as f32 };
    let scale_x = f64::from(width) / f64::from(w);
    let scale_y = f64::from(height) / f64::from(h);
    let resize = |p: &RgbImage, w, h| imageops::resize(p, w, h, FilterType::Triangle);
    let (seen, frame) = match fit {
        Fit::Stretch => (resize(picture, width, height), whole),
        Fit::Centre => {
            let scale = scale_x.max(scale_y);
            // Rounding may come to no pixel at all, or to one more than there is.
            let cut = |target: u32, have: u32| ((f64::from(target) / scale).round() as u32).clamp(1, have);
            let (cw, ch) = (cut(width, w), cut(height, h));
            let (x, y) = ((w - cw) / 2, (h - ch) / 2);
            let part = imageops::crop_imm(picture, x, y, cw, ch).to_image();
            let frame = Frame { x: x as f32, y: y as f32, width: cw as f32, height: ch as f32 };
            (resize(&part, width, height), frame)
        }
        Fit::Letterbox => {
            let scale = scale_x.min(scale_y);
            let grown = |have: u32, most: u32| ((f64::from(have) * scale).round() as u32).clamp(1, most);
            let (gw, gh) = (grown(w, width), grown(h, height));
            let (x, y) = ((width - gw) / 2, (height - gh) / 2);
            let mut canvas = RgbImage::from_pixel(width, height, Rgb([0; 3]));
            imageops::replace(&mut canvas, &resize(picture, gw, gh), i64::from(x), i64::from(y));
            // By the extents that were drawn, which are rounded, so that points found in them lie right in the photo.
            let (px, py) = (w as f32 / gw as f32, h as f32 / gh as f32);
            let frame = Frame {
                x: -(x as f32) * px,
                y: -(y as f32) * py,
                width: width as f32 * px,
                height: height as f32 * py,
            };
            (canvas, frame)
        }
    };
    ImageTensor {
        values: seen.into_raw().into_iter().enumerate().map(|(i, byte)| range.apply(byte, i % 3)).collect(),
        frame,
    }
}

/// Writes a PNG, whole or not at all; under no name that promises another format.
///
/// # Errors
/// [`IoError::PictureName`], [`IoError::Write`], [`IoError::DiskFull`].
pub fn write_png(path: &Path, picture: &RgbImage) -> Result<(), IoError> {
    check_picture_name(path, "png")?;
    let mut bytes = Vec::new();
    picture
        .write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)
        .map_err(|e| IoError::write(path, std::io::Error::other(e)))?;
    write_atomic(path, |out| out.write_all(&bytes)).map_err(|e| IoError::write(path, e))
}
