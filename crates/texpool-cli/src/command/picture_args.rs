//! Conversion of pictures to inputs: as the flags specify, or else the model's catalogue entry, or else by a guess that
//! is reported.

use crate::{
    answer::View,
    fetch::Entry,
    io::{ChannelOrder, Fit, IoError, PixelValues, Preprocessing, Range, preprocess},
};
use image::{RgbImage, imageops};
use serde::Serialize;
use std::{borrow::Cow, fmt, path::Path};
use texpool_ops::graph::{BoundedInput, Tensor};

/// The flags for pictures.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(super) struct PictureArgs {
    /// Adapt pictures to the input's aspect ratio. Default: by the catalogue's entry of the model, otherwise
    /// `stretch`.
    #[arg(long, value_enum)]
    fit: Option<Fit>,
    /// Share of the largest possible part that `--fit centre` keeps, such as 0.875.
    #[arg(long, value_name = "PART", value_parser = crop_pct)]
    crop_pct: Option<f32>,
    /// Range of the input's values for a picture: -1 to 1, 0 to 1, 0 to 255, or normalised with the mean and
    /// deviation of ImageNet. Default: by the catalogue's entry of the model, otherwise `raw` for integer inputs and
    /// `signed` for others.
    #[arg(long, value_enum, conflicts_with_all = ["mean", "std"])]
    range: Option<Range>,
    /// Mean of each channel for values from 0 to 1, in the network's order, as in torchvision's Normalize.
    #[arg(long, value_name = "A,B,C", value_parser = numbers, requires = "std", allow_negative_numbers = true)]
    mean: Option<[f32; 3]>,
    /// Standard deviation of each channel, in the same form.
    #[arg(long, value_name = "A,B,C", value_parser = deviations, requires = "mean", allow_negative_numbers = true)]
    std: Option<[f32; 3]>,
    /// Order of colours in the network's input. Default: by the catalogue's entry of the model, otherwise `rgb`.
    #[arg(long, value_enum)]
    channels: Option<ChannelOrder>,
    /// Cut this part out of pictures first, in pixels, for networks that see a square around a face or a hand, or a
    /// line of text. Answers stay in pixels of the whole picture.
    #[arg(long, value_name = "X,Y,WIDTH,HEIGHT", value_parser = crop)]
    crop: Option<Crop>,
}

/// A part of a picture, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Crop {
    x: u32,
    y: u32,
    width: u32,
    height: u32,
}

/// Source of the conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ChosenBy {
    Catalogue,
    CatalogueAndFlags,
    Flags,
    Default,
}

/// Conversion of a picture to an input, and its source.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PictureUse {
    /// Extents of the values.
    #[serde(skip)]
    pub(super) dims: Vec<usize>,
    width: usize,
    height: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    crop: Option<Crop>,
    /// The part of the picture that the network sees.
    #[serde(skip)]
    pub(super) view: View,
    #[serde(flatten)]
    how: Preprocessing,
    chosen_by: ChosenBy,
}

impl fmt::Display for PictureUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { width, height, how, chosen_by, .. } = self;
        let who = match chosen_by {
            ChosenBy::Catalogue => "from the catalogue",
            ChosenBy::CatalogueAndFlags => "from the catalogue, changed by flags",
            ChosenBy::Flags => "as the flags say",
            ChosenBy::Default => {
                "a guess, since the model does not say; --fit, --range, --mean with --std, and --channels say otherwise"
            }
        };
        write!(f, "{width}x{height}, {how} ({who})")
    }
}

impl PictureUse {
    /// Describes the conversion in a few words: `224×224, centre, ImageNet mean (from the catalogue; ...)`.
    pub(super) fn short(&self) -> String {
        let Self { width, height, crop, how, chosen_by, .. } = self;
        let cut = crop.map_or(String::new(), |Crop { x, y, width, height }| format!("{width}×{height} at {x}, {y} → "));
        let fit = match how.fit {
            Fit::Stretch => "stretched",
            Fit::Centre => "centre",
            Fit::Letterbox => "letterbox",
        };
        let values = match how.values {
            PixelValues::Range { range: Range::Signed } => "values -1 to 1".to_owned(),
            PixelValues::Range { range: Range::Unit } => "values 0 to 1".to_owned(),
            PixelValues::Range { range: Range::Raw } => "values 0 to 255".to_owned(),
            PixelValues::Range { range: Range::Imagenet } => "ImageNet mean".to_owned(),
            PixelValues::MeanStd { mean, .. } => format!("mean {}", mean[0]),
        };
        let order = if how.channels == ChannelOrder::Bgr { ", blue first" } else { "" };
        let who = match chosen_by {
            ChosenBy::Catalogue => "from the catalogue; --range and --fit change it",
            ChosenBy::CatalogueAndFlags => "from the catalogue, changed by flags",
            ChosenBy::Flags => "as the flags say",
            ChosenBy::Default => "a guess; --fit, --range, --mean with --std, and --channels change it",
        };
        format!("{cut}{width}×{height}, {fit}, {values}{order} ({who})")
    }
}

/// A side of the pictures that an input takes.
#[derive(Clone, Copy, Debug)]
struct Side<'a> {
    most: usize,
    /// Its record if it may be shorter.
    open: Option<&'a BoundedInput>,
}

impl Side<'_> {
    /// Returns the extent that is nearest to a length.
    fn nearest(self, length: f64) -> usize {
        let Some(&BoundedInput { step, more, .. }) = self.open else { return self.most };
        let most = self.most.saturating_sub(more);
        let most = most - most % step;
        (((length - more as f64) / step as f64).round() as usize * step).clamp(step, most.max(step)) + more
    }
}

/// Returns the width and height in which an input shows a picture. Sides that may be shorter keep the picture's aspect
/// ratio. If both may be, the picture is not enlarged.
fn shown((w, h): (u32, u32), width: Side<'_>, height: Side<'_>) -> (usize, usize) {
    let [w, h] = [w, h].map(|side| f64::from(side.max(1)));
    let [to_width, to_height] = [width.most as f64 / w, height.most as f64 / h];
    let scale = match (width.open, height.open) {
        (Some(x), Some(y)) => {
            let scale = to_width.min(to_height).min(1.0);
            // One extent for both sides.
            if x.count == y.count {
                let side = width.nearest(w.max(h) * scale);
                return (side, side);
            }
            scale
        }
        (Some(_), None) => to_height,
        _ => to_width,
    };
    (width.nearest(w * scale), height.nearest(h * scale))
}

impl PictureArgs {
    /// Returns the values of a picture for an input, or `None` if the input does not take pictures. An input of
    /// several pictures gets the same one several times. A bounded batch has one picture, and a bounded width or height
    /// follows the picture's.
    pub(super) fn values(
        &self,
        path: &Path,
        picture: &RgbImage,
        (tensor, bounded): (&Tensor, &[BoundedInput]),
        entry: Option<&Entry>,
    ) -> Result<Option<(Vec<f32>, PictureUse)>, IoError> {
        let (batch, first, second, planar) = match tensor.dims[..] {
            [batch, first, second, 3] => (batch, first, second, false),
            [batch, 3, first, second] => (batch, first, second, true),
            _ => return Ok(None),
        };
        let open = |axis: usize| bounded.iter().find(|bounded| bounded.axis == axis);
        let batch = open(0).map_or(batch, |bounded| 1 + bounded.more);
        if [batch, first, second].contains(&0) {
            return Ok(None);
        }
        let (part, crop) = self.part(path, picture)?;
        let (how, chosen_by) = self.choose(tensor, entry);
        let axes = if planar { [2, 3] } else { [1, 2] };
        let sides = [(first, axes[0]), (second, axes[1])].map(|(most, axis)| Side { most, open: open(axis) });
        let [width, height] = if how.transposed { sides } else { [sides[1], sides[0]] };
        let (width, height) = shown(part.dimensions(), width, height);
        let seen = preprocess(&part, width as u32, height as u32, &how);
        let mut frame = seen.frame;
        if let Some(crop) = crop {
            (frame.x, frame.y) = (frame.x + crop.x as f32, frame.y + crop.y as f32);
        }
        let view = View { frame, input: [width, height], picture: picture.dimensions().into() };
        let values = if planar { seen.planar() } else { seen.values };
        let [first, second] = if how.transposed { [width, height] } else { [height, width] };
        let dims = if planar { vec![batch, 3, first, second] } else { vec![batch, first, second, 3] };
        Ok(Some((values.repeat(batch), PictureUse { dims, width, height, crop, view, how, chosen_by })))
    }

    /// Cuts out the part that the user wants, as far as it is inside the picture.
    fn part<'a>(&self, path: &Path, picture: &'a RgbImage) -> Result<(Cow<'a, RgbImage>, Option<Crop>), IoError> {
        let Some(Crop { x, y, width, height }) = self.crop else { return Ok((Cow::Borrowed(picture), None)) };
        let (w, h) = picture.dimensions();
        if x >= w || y >= h {
            return Err(IoError::Crop { path: path.into(), width: w, height: h, x, y });
        }
        let crop = Crop { x, y, width: width.min(w - x), height: height.min(h - y) };
        Ok((Cow::Owned(imageops::crop_imm(picture, x, y, crop.width, crop.height).to_image()), Some(crop)))
    }

    fn choose(&self, tensor: &Tensor, entry: Option<&Entry>) -> (Preprocessing, ChosenBy) {
        let published = entry.and_then(|entry| entry.preprocessing.as_ref()).map(|published| published.how);
        let counts = !tensor.element_type.is_float() && tensor.quantization.is_none();
        let guessed = || Preprocessing::new(Fit::default(), if counts { Range::Raw } else { Range::default() });
        let mut how = published.unwrap_or_else(guessed);
        if let Some(fit) = self.fit {
            (how.fit, how.crop_pct) = (fit, 1.0);
        }
        how.crop_pct = self.crop_pct.unwrap_or(how.crop_pct);
        how.channels = self.channels.unwrap_or(how.channels);
        how.values = match (self.range, self.mean, self.std) {
            (Some(range), ..) => range.into(),
            (None, Some(mean), Some(std)) => PixelValues::MeanStd { mean, std },
            _ => how.values,
        };
        let flags = self.fit.is_some()
            || self.crop_pct.is_some()
            || self.channels.is_some()
            || self.range.is_some()
            || self.mean.is_some();
        let chosen_by = match (published.is_some(), flags) {
            (true, false) => ChosenBy::Catalogue,
            (true, true) => ChosenBy::CatalogueAndFlags,
            (false, true) => ChosenBy::Flags,
            (false, false) => ChosenBy::Default,
        };
        (how, chosen_by)
    }
}

/// Parses a fraction of a picture.
fn crop_pct(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(part) if part > 0.0 && part <= 1.0 => Ok(part),
        _ => Err(format!("`{text}` is no part of a picture; write a number above 0 and up to 1, such as 0.875")),
    }
}

/// Parses a part of a picture.
fn crop(text: &str) -> Result<Crop, String> {
    let parsed: Option<Vec<u32>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    match parsed.as_deref() {
        Some(&[x, y, width, height]) if width > 0 && height > 0 => Ok(Crop { x, y, width, height }),
        _ => Err(format!("`{text}` is no part of a picture; write X,Y,WIDTH,HEIGHT in pixels, such as 160,40,200,200")),
    }
}

/// Parses a number for each channel, or one number for all.
fn numbers(text: &str) -> Result<[f32; 3], String> {
    let parsed: Option<Vec<f32>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    match parsed.as_deref() {
        Some(&[one]) if one.is_finite() => Ok([one; 3]),
        Some(&[a, b, c]) if [a, b, c].iter().all(|number| number.is_finite()) => Ok([a, b, c]),
        _ => Err(format!("`{text}` is not a number for each of three channels; write such as 0.485,0.456,0.406")),
    }
}

/// Parses standard deviations, which must be positive because values are divided by them.
fn deviations(text: &str) -> Result<[f32; 3], String> {
    let numbers = numbers(text)?;
    match numbers.iter().all(|&number| number > 0.0) {
        true => Ok(numbers),
        false => {
            Err(format!("`{text}` cannot be divided by; a standard deviation is above 0, such as 0.229,0.224,0.225"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_keeps_its_aspect_ratio_where_sides_may_be_shorter() {
        let open = |count: usize, step: usize| BoundedInput { input: 0, axis: 0, count, step, more: 0 };
        let [fixed, by_8, by_32, any] = [None, Some(open(1, 8)), Some(open(2, 32)), Some(open(3, 1))];
        let size = |picture, width: (usize, &Option<BoundedInput>), height: (usize, &Option<BoundedInput>)| {
            let [width, height] = [width, height].map(|(most, open)| Side { most, open: open.as_ref() });
            shown(picture, width, height)
        };
        // Pictures are made smaller, and never larger.
        assert_eq!(size((1920, 1080), (960, &by_32), (640, &any)), (960, 540));
        assert_eq!(size((100, 50), (960, &by_32), (640, &by_8)), (96, 48));
        // A line of text gets the height of the input.
        assert_eq!(size((400, 60), (640, &by_8), (48, &fixed)), (320, 48));
        assert_eq!(size((4000, 60), (640, &by_8), (48, &fixed)), (640, 48));
        assert_eq!(size((1, 100), (32, &fixed), (320, &any)), (32, 320));
        assert_eq!(size((400, 60), (224, &fixed), (224, &fixed)), (224, 224));
        // One extent for both sides.
        assert_eq!(size((100, 50), (640, &by_32), (640, &by_32)), (96, 96));
    }
}
