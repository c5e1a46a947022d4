//! Decodes and writes picture files. Large pictures are decoded at a fraction of their extents.

use super::{IoError, check_picture_name, complete, large_picture, write_atomic};
use image::{
    DynamicImage, ImageDecoder, ImageFormat, Limits, Rgb, RgbImage, codecs::png::PngDecoder, metadata::Orientation,
};
use std::{io::Cursor, path::Path};
use zune_jpeg::{
    JpegDecoder,
    zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions},
};

/// Largest picture file that is read: 512 MiB, more than a photo of 200 million pixels takes.
pub(super) const MAX_FILE_BYTES: usize = 512 << 20;
/// Most pixels that are decoded at full size: 67 million, 192 MiB of red, green and blue.
const MAX_WHOLE_PIXELS: u64 = 64 << 20;
/// Most pixels of a picture: a thousand million. A few bytes can claim any extents.
const MAX_PIXELS: u64 = 1 << 30;

/// Supported picture formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Png,
    Jpeg,
}

/// Detects the format from the first bytes.
pub(super) fn kind(bytes: &[u8]) -> Option<Kind> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Kind::Png),
        [0xff, 0xd8, 0xff, ..] => Some(Kind::Jpeg),
        _ => None,
    }
}

/// Decodes the pixels, rotated upright as the camera noted.
pub(super) fn decode(path: &Path, kind: Kind, bytes: &[u8]) -> Result<RgbImage, IoError> {
    let damaged = |what: String| IoError::Malformed { path: path.into(), what };
    let decoded = match kind {
        Kind::Png => complete::png(bytes).map(|()| png(path, bytes)),
        Kind::Jpeg => complete::jpeg(bytes).map(|coding| jpeg(path, bytes, coding)),
    };
    let refused = |reason| IoError::NotAPicture { path: path.into(), reason };
    let (picture, orientation) = decoded.map_err(damaged)?.map_err(refused)?;
    let mut picture = DynamicImage::ImageRgb8(picture);
    picture.apply_orientation(orientation);
    match (picture.width(), picture.height()) {
        (0, _) | (_, 0) => Err(damaged("it has no pixels".into())),
        _ => Ok(picture.into_rgb8()),
    }
}

/// Returns the power of two by which a picture is reduced while it is decoded; 1 for full size.
fn shrink(path: &Path, width: u64, height: u64) -> Result<u32, String> {
    let pixels = width.saturating_mul(height);
    if pixels > MAX_PIXELS {
        let remedy = large_picture::shrinking(path);
        return Err(format!("it is {width}x{height}, beyond the limit of {MAX_PIXELS} pixels; {remedy}"));
    }
    Ok((0..).map(|power| 1 << power).find(|by: &u32| pixels / u64::from(by.pow(2)) <= MAX_WHOLE_PIXELS).unwrap_or(1))
}

fn png(path: &Path, bytes: &[u8]) -> Result<(RgbImage, Orientation), String> {
    let message = |e: image::ImageError| e.to_string();
    let mut decoder = PngDecoder::with_limits(Cursor::new(bytes), Limits::default()).map_err(message)?;
    // An unreadable orientation is no reason to refuse the picture.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let (width, height) = decoder.dimensions();
    let by = shrink(path, width.into(), height.into())?;
    if by > 1 {
        return Ok((large_picture::png(bytes, by)?, orientation));
    }
    let mut limits = Limits::default();
    limits.reserve(decoder.total_bytes()).map_err(|e| e.to_string())?;
    // The memory of the pixels is not part of the decoder's limit.
    decoder.set_limits(limits).map_err(message)?;
    Ok((opaque(DynamicImage::from_decoder(decoder).map_err(message)?), orientation))
}

/// Draws the picture on white, because transparent pixels have arbitrary colours.
fn opaque(picture: DynamicImage) -> RgbImage {
    if !picture.color().has_alpha() {
        return picture.into_rgb8();
    }
    let picture = picture.into_rgba8();
    RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let [red, green, blue, alpha] = picture.get_pixel(x, y).0;
        Rgb([red, green, blue].map(|colour| large_picture::on_white(colour, alpha)))
    })
}

/// Uses the same decoder as `image`, in its strict mode, which `image` does not offer: otherwise damaged parts are
/// grey.
fn jpeg(path: &Path, bytes: &[u8], coding: complete::Coding) -> Result<(RgbImage, Orientation), String> {
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        // The number of bytes is limited below; a picture may be long and narrow.
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|e| e.to_string())?;
    let (width, height) = decoder.dimensions().ok_or("it states no extents")?;
    let exif = decoder.exif().and_then(|exif| Orientation::from_exif_chunk(exif));
    let orientation = exif.unwrap_or(Orientation::NoTransforms);
    let by = shrink(path, width as u64, height as u64)?;
    if by > 1 {
        return Ok((large_picture::jpeg(path, bytes, [width, height], by, coding)?, orientation));
    }
    let pixels = decoder.decode().map_err(|e| e.to_string())?;
    let picture = RgbImage::from_raw(width as u32, height as u32, pixels).ok_or("its pixels are not of its extents")?;
    Ok((picture, orientation))
}

/// Writes a PNG completely or not at all. Refuses names with the extension of another format.
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
