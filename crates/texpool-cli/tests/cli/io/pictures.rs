//! Pictures: large ones, transparent ones, and all preprocessing before a network sees them.

use image::{ExtendedColorType, ImageEncoder, Rgb, RgbImage, RgbaImage, codecs::jpeg::JpegEncoder};
use std::{
    fs::{self, File},
    io::BufWriter,
    path::Path,
};
use texpool_cli::io::{ChannelOrder, Fit, IoError, PixelValues, Preprocessing, Range, preprocess, read_picture};

/// Writes a PNG of this size with one bit per pixel. The left third is black and the rest white.
fn large_png(path: &Path, width: u32, height: u32) {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path).unwrap()), width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    let row: Vec<u8> = (0..width.div_ceil(8)).map(|byte| if byte * 8 < width / 3 { 0 } else { 0xff }).collect();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&row.repeat(height as usize)).unwrap();
}

/// The full picture has 81 million pixels. It is read at half of its extents, which are odd.
#[test]
fn a_large_png_is_made_smaller_while_it_is_decoded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.png");
    large_png(&path, 9001, 9001);
    let picture = read_picture(&path).unwrap();
    assert_eq!(picture.dimensions(), (4501, 4501));
    let at = |x, y| picture.get_pixel(x, y).0;
    assert_eq!((at(0, 0), at(1400, 4500), at(1600, 7), at(4500, 4500)), ([0; 3], [0; 3], [255; 3], [255; 3]));
    large_png(&path, 40_000, 30_000);
    let error = read_picture(&path).unwrap_err();
    assert!(matches!(error, IoError::NotAPicture { .. }) && error.to_string().contains("40000x30000"), "{error}");
}

#[test]
fn a_large_jpeg_is_made_smaller_while_it_is_decoded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.jpg");
    let (width, height) = (16_400u32, 4_100u32);
    let grey: Vec<u8> = (0..width).map(|x| if x < width / 2 { 40 } else { 200 }).collect();
    let file = BufWriter::new(File::create(&path).unwrap());
    let encoder = JpegEncoder::new_with_quality(file, 90);
    encoder.write_image(&grey.repeat(height as usize), width, height, ExtendedColorType::L8).unwrap();
    let picture = read_picture(&path).unwrap();
    assert_eq!(picture.dimensions(), (8_200, 2_050));
    for (x, grey) in [(0, 40), (4_000, 40), (4_200, 200), (8_199, 200)] {
        let found = picture.get_pixel(x, 1_000).0[0];
        assert!(found.abs_diff(grey) < 4, "{x}: {found}");
    }
    // A progressive file would have to be held in memory completely.
    let mut bytes = fs::read(&path).unwrap();
    let frame = bytes.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    bytes[frame + 1] = 0xc2;
    fs::write(&path, bytes).unwrap();
    let error = read_picture(&path).unwrap_err().to_string();
    assert!(error.contains("16400x4100 and progressive"), "{error}");
}

/// The colour of a transparent pixel is arbitrary.
#[test]
fn transparent_pixels_are_drawn_on_white() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.png");
    let pixels = [[255, 0, 0, 0], [255, 0, 0, 255], [0, 0, 0, 128], [10, 20, 30, 255]];
    RgbaImage::from_fn(4, 1, |x, _| image::Rgba(pixels[x as usize])).save(&path).unwrap();
    let picture = read_picture(&path).unwrap();
    let found: Vec<[u8; 3]> = picture.pixels().map(|pixel| pixel.0).collect();
    assert_eq!(found, [[255; 3], [255, 0, 0], [127; 3], [10, 20, 30]]);
}

#[test]
fn means_channels_and_crops_are_as_asked() {
    let photo = RgbImage::from_pixel(8, 8, Rgb([255, 0, 51]));
    let mut how = Preprocessing::new(Fit::Stretch, Range::Raw);
    how.channels = ChannelOrder::Bgr;
    assert_eq!(preprocess(&photo, 2, 2, &how).values[..3], [51.0, 0.0, 255.0]);
    // In the order in which the network takes channels.
    how.values = PixelValues::MeanStd { mean: [0.2, 0.5, 0.5], std: [1.0, 0.25, 0.5] };
    assert_eq!(preprocess(&photo, 2, 2, &how).values[..3], [0.0, -2.0, 1.0]);

    // The middle 224 of 256 columns remain, as after torchvision's resize to 256.
    let photo = RgbImage::from_fn(256, 256, |x, _| Rgb([x as u8; 3]));
    let mut how = Preprocessing::new(Fit::Centre, Range::Raw);
    how.crop_pct = 0.875;
    let seen = preprocess(&photo, 224, 224, &how);
    assert_eq!((seen.values[0], seen.values[223 * 3]), (16.0, 239.0));
    assert_eq!((seen.frame.at(0.0, 0.0), seen.frame.at(1.0, 1.0)), ([16.0, 16.0], [240.0, 240.0]));

    // Columns before rows: what is right in the photo is below.
    how = Preprocessing { transposed: true, ..Preprocessing::new(Fit::Stretch, Range::Raw) };
    let photo = RgbImage::from_fn(3, 2, |x, y| Rgb([(10 * x + y) as u8; 3]));
    let seen = preprocess(&photo, 3, 2, &how);
    let reds: Vec<f32> = seen.values.iter().copied().step_by(3).collect();
    assert_eq!(reds, [0.0, 1.0, 10.0, 11.0, 20.0, 21.0]);
    assert_eq!(seen.planar()[..6], reds);
}

#[test]
fn what_is_done_to_a_picture_is_said_in_words() {
    let mut how = Preprocessing { crop_pct: 0.875, ..Preprocessing::new(Fit::Centre, Range::Imagenet) };
    assert_eq!(how.to_string(), "centre crop of 0.875, ImageNet mean and deviation");
    how = Preprocessing { channels: ChannelOrder::Bgr, ..Preprocessing::new(Fit::Letterbox, Range::Signed) };
    assert_eq!(how.to_string(), "letterbox with black bars, values -1 to 1, blue green red");
    how.values = PixelValues::MeanStd { mean: [0.5; 3], std: [0.25; 3] };
    assert!(how.to_string().contains("mean [0.5, 0.5, 0.5] and deviation [0.25, 0.25, 0.25]"), "{how}");
}
