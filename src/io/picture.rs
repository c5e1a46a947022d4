//! Pictures to a network's input, and back: decoding, fitting, scaling of values, and where a point lies in the photo.

use super::{IoError, write_whole};
use image::{
    DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, Rgb, RgbImage,
    imageops::{self, FilterType},
    metadata::Orientation,
};
use std::{
    fs::File,
    io::{BufReader, Cursor},
    path::Path,
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
pub struct Prepared {
    /// Dense `[1, height, width, 3]` values.
    pub values: Vec<f32>,
    /// What part of the photo they show.
    pub frame: Frame,
}

impl Prepared {
    /// The values as dense `[1, 3, height, width]`.
    pub fn planar(&self) -> Vec<f32> {
        (0..3).flat_map(|channel| self.values.iter().skip(channel).step_by(3).copied()).collect()
    }
}

/// Decodes a PNG or JPEG and turns it the way up that its camera noted; transparency is dropped, grey becomes three equal
/// channels.
///
/// # Errors
/// [`IoError::Read`], [`IoError::NotAPicture`].
pub fn read_picture(path: &Path) -> Result<RgbImage, IoError> {
    let file = File::open(path).map_err(|e| IoError::read(path, e))?;
    let bad = |reason: String| IoError::NotAPicture { path: path.into(), reason };
    let reader = ImageReader::new(BufReader::new(file)).with_guessed_format().map_err(|e| IoError::read(path, e))?;
    let mut decoder = reader.into_decoder().map_err(|e| bad(e.to_string()))?;
    // A few bytes can claim any extents; what would not fit in the decoder's own limit is refused before it is decoded.
    let mut limits = Limits::default();
    limits.reserve(decoder.total_bytes()).map_err(|e| bad(e.to_string()))?;
    decoder.set_limits(limits).map_err(|e| bad(e.to_string()))?;
    // A note that cannot be read is no reason to refuse the picture.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|e| bad(e.to_string()))?;
    picture.apply_orientation(orientation);
    match (picture.width(), picture.height()) {
        (0, _) | (_, 0) => Err(bad("it has no pixels".into())),
        _ => Ok(picture.to_rgb8()),
    }
}

/// Resizes a picture to `width` by `height` (bilinear, and averaging where it shrinks) and scales its values.
pub fn prepare(picture: &RgbImage, width: u32, height: u32, fit: Fit, range: Range) -> Prepared {
    let (w, h) = picture.dimensions();
    let whole = Frame { x: 0.0, y: 0.0, width: w as f32, height: h as f32 };
    let scale_x = f64::from(width) / f64::from(w);
    let scale_y = f64::from(height) / f64::from(h);
    let resize = |p: &RgbImage, w, h| imageops::resize(p, w, h, FilterType::Triangle);
    let (seen, frame) = match fit {
        Fit::Stretch => (resize(picture, width, height), whole),
        Fit::Centre => {
            let scale = scale_x.max(scale_y);
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
    Prepared {
        values: seen.into_raw().into_iter().enumerate().map(|(i, byte)| range.apply(byte, i % 3)).collect(),
        frame,
    }
}

/// Writes a PNG, whole or not at all.
///
/// # Errors
/// [`IoError::Write`], [`IoError::DiskFull`].
pub fn write_png(path: &Path, picture: &RgbImage) -> Result<(), IoError> {
    let mut bytes = Vec::new();
    picture
        .write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)
        .map_err(|e| IoError::write(path, std::io::Error::other(e)))?;
    write_whole(path, |out| out.write_all(&bytes)).map_err(|e| IoError::write(path, e))
}
