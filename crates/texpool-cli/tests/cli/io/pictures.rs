//! Pictures: large ones, transparent ones, and all preprocessing before a network sees them.

use flate2::{Compression, Crc, write::ZlibEncoder};
use image::{ExtendedColorType, ImageEncoder, Rgb, RgbImage, RgbaImage, codecs::jpeg::JpegEncoder};
use std::{
    fs::{self, File},
    io::{BufWriter, Write},
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
    assert!(error.to_string().contains("--size 8192 -o large.small.png`"), "{error}");
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
        let actual = picture.get_pixel(x, 1_000).0[0];
        assert!(actual.abs_diff(grey) < 4, "{x}: {actual}");
    }
    // A progressive file would have to be held in memory completely.
    let mut bytes = fs::read(&path).unwrap();
    let frame = bytes.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    bytes[frame + 1] = 0xc2;
    fs::write(&path, bytes).unwrap();
    let error = read_picture(&path).unwrap_err().to_string();
    assert!(error.contains("16400x4100 and progressive, so that up to 384 MiB"), "{error}");
    assert!(error.contains("`jpegtran -copy all -outfile ") && error.contains("large.baseline.jpg"), "{error}");
}

/// Writes an interlaced PNG of this size with one bit per pixel. The left third is black and the rest white.
fn large_interlaced_png(path: &Path, width: u32, height: u32) {
    let mut data = ZlibEncoder::new(Vec::new(), Compression::fast());
    for (x, y, across, down) in
        [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    {
        let pixels: Vec<bool> = (x..width).step_by(across).map(|x| x >= width / 3).collect();
        let byte =
            |pixels: &[bool]| pixels.iter().enumerate().fold(0, |byte, (i, &white)| byte | u8::from(white) << (7 - i));
        // Each row begins with its filter, which is none.
        let row: Vec<u8> = std::iter::once(0).chain(pixels.chunks(8).map(byte)).collect();
        // A pass without columns has no rows.
        let rows = (y..height).step_by(down).filter(|_| !pixels.is_empty());
        rows.for_each(|_| data.write_all(&row).unwrap());
    }
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[1, 0, 0, 0, 1]].concat();
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, content) in [(b"IHDR", header), (b"IDAT", data.finish().unwrap()), (b"IEND", Vec::new())] {
        let mut crc = Crc::new();
        crc.update(name);
        crc.update(&content);
        let length = content.len() as u32;
        png.extend([&length.to_be_bytes()[..], name, &content, &crc.sum().to_be_bytes()].concat());
    }
    fs::write(path, png).unwrap();
}

#[test]
fn a_large_interlaced_png_is_made_smaller_while_it_is_decoded() {
    let dir = tempfile::tempdir().unwrap();
    let (plain, interlaced) = (dir.path().join("plain.png"), dir.path().join("interlaced.png"));
    // Pictures with columns and rows that some passes lack are decoded whole.
    for (width, height) in [(9_000, 9_001), (34_000_000, 2), (3, 2)] {
        large_interlaced_png(&interlaced, width, height);
        let reduced = read_picture(&interlaced).unwrap();
        let by = if width > 3 { 2 } else { 1 };
        assert_eq!(reduced.dimensions(), (width.div_ceil(by), height.div_ceil(by)));
        let at = |x: u32| reduced.get_pixel(x, reduced.height() - 1).0;
        let (black, white) = (width / 3 / by - 1, (width / 3).div_ceil(by) + 1);
        assert_eq!((at(0), at(black), at(white), at(reduced.width() - 1)), ([0; 3], [0; 3], [255; 3], [255; 3]));
    }
    large_interlaced_png(&interlaced, 9_003, 9_001);
    large_png(&plain, 9_003, 9_001);
    // The plain one has its border at a multiple of eight columns.
    let (actual, expected) = (read_picture(&interlaced).unwrap(), read_picture(&plain).unwrap());
    assert_eq!(actual.dimensions(), expected.dimensions());
    assert!(actual.rows().zip(expected.rows()).all(|(a, b)| a.zip(b).filter(|(a, b)| a != b).count() <= 4));
}

/// Writes a JPEG of four inks, as Adobe's programs invert them, which is of one colour.
fn inked_jpeg(path: &Path, width: u16, height: u16, inks: [i32; 4]) {
    let segment =
        |marker: u8, content: &[u8]| [&[0xff, marker][..], &(content.len() as u16 + 2).to_be_bytes(), content].concat();
    let mut frame = [&[8][..], &height.to_be_bytes(), &width.to_be_bytes(), &[4]].concat();
    (1..=4).for_each(|ink| frame.extend([ink, 0x11, 0]));
    // The codes of a first coefficient: `0` if it is as before, `10` if its difference has ten bits. `0` ends a block.
    let counts = |codes: [u8; 2]| [&codes[..], &[0; 14]].concat();
    let scan = [&[4][..], &[1, 0, 2, 0, 3, 0, 4, 0], &[0, 63, 0]].concat();
    let mut bits = String::new();
    for ink in inks {
        let difference = 8 * (ink - 128);
        let coded = if difference < 0 { difference + 1023 } else { difference };
        bits += &format!("10{coded:010b}0");
    }
    // All other blocks are as the first, which takes two bits of each ink.
    while !bits.len().is_multiple_of(8) {
        bits.push('0');
    }
    let mut data = Vec::new();
    for byte in bits.as_bytes().chunks(8) {
        let byte = byte.iter().fold(0, |byte, bit| byte << 1 | (bit - b'0'));
        data.push(byte);
        data.extend((byte == 0xff).then_some(0));
    }
    let blocks = usize::from(width.div_ceil(8)) * usize::from(height.div_ceil(8));
    data.resize(data.len() + blocks - 1, 0);
    let parts = [
        vec![0xff, 0xd8],
        segment(0xee, b"Adobe\0\x64\0\0\0\0\0"),
        segment(0xdb, &[&[0][..], &[1; 64]].concat()),
        segment(0xc0, &frame),
        segment(0xc4, &[&[0x00][..], &counts([1, 1]), &[0, 10]].concat()),
        segment(0xc4, &[&[0x10][..], &counts([1, 0]), &[0]].concat()),
        segment(0xda, &scan),
        data,
        vec![0xff, 0xd9],
    ];
    fs::write(path, parts.concat()).unwrap();
}

#[test]
fn a_large_jpeg_of_four_inks_has_the_colours_of_a_small_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("inks.jpg");
    let inks = [200, 40, 220, 240];
    inked_jpeg(&path, 16, 16, inks);
    let small = read_picture(&path).unwrap();
    assert_eq!(small.get_pixel(7, 9).0, [188, 38, 207]);
    inked_jpeg(&path, 16_400, 4_100, inks);
    let large = read_picture(&path).unwrap();
    assert_eq!(large.dimensions(), (8_200, 2_050));
    for (x, y) in [(0, 0), (8_199, 0), (4_000, 2_049)] {
        assert_eq!(large.get_pixel(x, y), small.get_pixel(7, 9), "{x}, {y}");
    }
}

/// The colour of a transparent pixel is arbitrary.
#[test]
fn transparent_pixels_are_drawn_on_white() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.png");
    let pixels = [[255, 0, 0, 0], [255, 0, 0, 255], [0, 0, 0, 128], [10, 20, 30, 255]];
    RgbaImage::from_fn(4, 1, |x, _| image::Rgba(pixels[x as usize])).save(&path).unwrap();
    let picture = read_picture(&path).unwrap();
    let pixels: Vec<[u8; 3]> = picture.pixels().map(|pixel| pixel.0).collect();
    assert_eq!(pixels, [[255; 3], [255, 0, 0], [127; 3], [10, 20, 30]]);
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
fn preprocessing_is_described_in_words() {
    let mut how = Preprocessing { crop_pct: 0.875, ..Preprocessing::new(Fit::Centre, Range::Imagenet) };
    assert_eq!(how.to_string(), "centre crop of 0.875, ImageNet mean and deviation");
    how = Preprocessing { channels: ChannelOrder::Bgr, ..Preprocessing::new(Fit::Letterbox, Range::Signed) };
    assert_eq!(how.to_string(), "letterbox with black bars, values -1 to 1, blue green red");
    how.values = PixelValues::MeanStd { mean: [0.5; 3], std: [0.25; 3] };
    assert!(how.to_string().contains("mean [0.5, 0.5, 0.5] and deviation [0.25, 0.25, 0.25]"), "{how}");
}
