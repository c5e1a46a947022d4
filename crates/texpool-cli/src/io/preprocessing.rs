//! Converts pictures to a network's input: fitting, scaling of values, and mapping points back to the photo.

use image::{
    Rgb, RgbImage,
    imageops::{self, FilterType},
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Adapts a picture to the aspect ratio of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// Width and height are scaled each by itself.
    #[default]
    Stretch,
    /// The largest middle part of the right aspect is kept.
    Centre,
    /// The whole picture, with black bars.
    Letterbox,
}

/// Range of values for the bytes 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
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

/// Mean and deviation of red, green and blue over ImageNet's photos, for values from 0 to 1.
const IMAGENET: [[f32; 2]; 3] = [[0.485, 0.229], [0.456, 0.224], [0.406, 0.225]];

/// Scaling of a picture's bytes: a common range, or a mean and a deviation per channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PixelValues {
    /// A common range.
    Range {
        /// The range.
        range: Range,
    },
    /// `(v / 255 - mean) / std`, as torchvision's `Normalize` computes it.
    MeanStd {
        /// Mean of each channel, in the network's order.
        mean: [f32; 3],
        /// Standard deviation of each channel, in the same order.
        std: [f32; 3],
    },
}

impl From<Range> for PixelValues {
    fn from(range: Range) -> Self {
        Self::Range { range }
    }
}

impl Default for PixelValues {
    fn default() -> Self {
        Range::default().into()
    }
}

impl PixelValues {
    /// Returns the value of a byte in a channel of the network.
    fn apply(self, byte: u8, channel: usize) -> f32 {
        let value = f32::from(byte);
        match self {
            Self::Range { range: Range::Signed } => value / 127.5 - 1.0,
            Self::Range { range: Range::Unit } => value / 255.0,
            Self::Range { range: Range::Raw } => value,
            Self::Range { range: Range::Imagenet } => {
                let [mean, deviation] = IMAGENET[channel % 3];
                (value / 255.0 - mean) / deviation
            }
            Self::MeanStd { mean, std } => (value / 255.0 - mean[channel % 3]) / std[channel % 3],
        }
    }
}

/// Order of a pixel's colours in the network's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ChannelOrder {
    /// Red, green, blue.
    #[default]
    Rgb,
    /// Blue, green, red, as OpenCV reads pictures.
    Bgr,
}

/// Conversion of a picture to a network's input.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preprocessing {
    /// Adaptation to the aspect ratio of the input.
    pub fit: Fit,
    /// Share of the width and height of the largest possible part that [`Fit::Centre`] keeps; `crop_pct` in timm.
    /// torchvision's "resize to 256, crop the middle 224" is 0.875.
    #[serde(default = "whole", skip_serializing_if = "is_whole")]
    pub crop_pct: f32,
    /// Scaling of the values.
    #[serde(flatten)]
    pub values: PixelValues,
    /// Order of the colours.
    #[serde(default)]
    pub channels: ChannelOrder,
    /// True if the network expects columns in place of rows, like some networks trained in MATLAB.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transposed: bool,
}

const fn whole() -> f32 {
    1.0
}

fn is_whole(part: &f32) -> bool {
    *part == whole()
}

impl Preprocessing {
    /// Uses this fit without a further crop, and this range of red, green and blue.
    pub const fn new(fit: Fit, range: Range) -> Self {
        let values = PixelValues::Range { range };
        Self { fit, crop_pct: whole(), values, channels: ChannelOrder::Rgb, transposed: false }
    }
}

impl Default for Preprocessing {
    fn default() -> Self {
        Self::new(Fit::default(), Range::default())
    }
}

impl fmt::Display for Preprocessing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fit {
            Fit::Stretch => f.write_str("stretched")?,
            Fit::Centre if is_whole(&self.crop_pct) => f.write_str("centre crop")?,
            Fit::Centre => write!(f, "centre crop of {}", self.crop_pct)?,
            Fit::Letterbox => f.write_str("letterbox with black bars")?,
        }
        match self.values {
            PixelValues::Range { range: Range::Signed } => f.write_str(", values -1 to 1")?,
            PixelValues::Range { range: Range::Unit } => f.write_str(", values 0 to 1")?,
            PixelValues::Range { range: Range::Raw } => f.write_str(", values 0 to 255")?,
            PixelValues::Range { range: Range::Imagenet } => f.write_str(", ImageNet mean and deviation")?,
            PixelValues::MeanStd { mean, std } => write!(f, ", mean {mean:?} and deviation {std:?}")?,
        }
        if self.channels == ChannelOrder::Bgr {
            f.write_str(", blue green red")?;
        }
        if self.transposed { f.write_str(", columns first") } else { Ok(()) }
    }
}

/// Rectangle of the photo that the network sees, in pixels. Parts outside the photo are black bars.
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
    /// Converts a point from shares of the network's input (0 to 1) to pixels of the photo.
    pub fn at(&self, x: f32, y: f32) -> [f32; 2] {
        [self.x + x * self.width, self.y + y * self.height]
    }
}

/// A picture in the form that a network takes.
#[derive(Clone, Debug)]
pub struct ImageTensor {
    /// Dense `[1, height, width, 3]` values; `[1, width, height, 3]` if [transposed](Preprocessing::transposed).
    pub values: Vec<f32>,
    /// Part of the photo that the values show.
    pub frame: Frame,
}

impl ImageTensor {
    /// Returns the values with the channels in front of the rows: dense `[1, 3, height, width]`.
    pub fn planar(&self) -> Vec<f32> {
        (0..3).flat_map(|channel| self.values.iter().skip(channel).step_by(3).copied()).collect()
    }
}

/// Resizes a picture to `width` by `height` (bilinear, averaging when it shrinks) and scales its values.
pub fn preprocess(picture: &RgbImage, width: u32, height: u32, how: &Preprocessing) -> ImageTensor {
    let (seen, frame) = fitted(picture, width, height, how);
    let seen = if how.transposed { imageops::flip_horizontal(&imageops::rotate90(&seen)) } else { seen };
    let mut values = Vec::with_capacity(seen.as_raw().len());
    for pixel in seen.pixels() {
        let [red, green, blue] = pixel.0;
        let bytes = match how.channels {
            ChannelOrder::Rgb => [red, green, blue],
            ChannelOrder::Bgr => [blue, green, red],
        };
        values.extend(bytes.iter().enumerate().map(|(channel, &byte)| how.values.apply(byte, channel)));
    }
    ImageTensor { values, frame }
}

/// Returns the pixels that the network sees, and their rectangle in the photo.
fn fitted(picture: &RgbImage, width: u32, height: u32, how: &Preprocessing) -> (RgbImage, Frame) {
    let (w, h) = picture.dimensions();
    let whole = Frame { x: 0.0, y: 0.0, width: w as f32, height: h as f32 };
    let (scale_x, scale_y) = (f64::from(width) / f64::from(w), f64::from(height) / f64::from(h));
    let resize = |picture: &RgbImage, w: u32, h: u32| imageops::resize(picture, w, h, FilterType::Triangle);
    match how.fit {
        Fit::Stretch => (resize(picture, width, height), whole),
        Fit::Centre => {
            let scale = scale_x.max(scale_y) / f64::from(how.crop_pct);
            // Rounding may give zero pixels, or one too many.
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
            // Uses the drawn extents, which are rounded, so that points map back to the correct place in the photo.
            let (px, py) = (w as f32 / gw as f32, h as f32 / gh as f32);
            let frame = Frame {
                x: -(x as f32) * px,
                y: -(y as f32) * py,
                width: width as f32 * px,
                height: height as f32 * py,
            };
            (canvas, frame)
        }
    }
}
