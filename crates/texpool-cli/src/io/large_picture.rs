//! Reduces pictures that are too large to decode completely by a power of two during decoding. Holds no more than the
//! reduced picture, its sums, and a few rows of the large one.

use super::{complete::Coding, shell_word};
use image::RgbImage;
use jpeg_decoder::Decoder;
use png::{Reader, Transformations};
use std::{ffi::OsStr, io::Cursor, path::Path};

/// Limit on the memory of a PNG row and of the decoder.
const MAX_ROW_BYTES: usize = 64 << 20;

/// The passes of an interlaced PNG: first column, first row, and the distances of columns and rows.
const PASSES: [[u32; 4]; 7] =
    [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];

type PngReader<'b> = Reader<Cursor<&'b [u8]>>;

/// Blends a colour with a white background, rounded to the nearest value.
pub(super) fn on_white(colour: u8, alpha: u8) -> u8 {
    let (colour, alpha) = (u32::from(colour), u32::from(alpha));
    ((colour * alpha + 255 * (255 - alpha) + 127) / 255) as u8
}

/// Reads a PNG row by row. Each pixel of the result is the mean of a square of `by` by `by` pixels.
pub(super) fn png(bytes: &[u8], by: u32) -> Result<RgbImage, String> {
    let limits = png::Limits { bytes: MAX_ROW_BYTES };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    // Palettes become colours, and 16 bits become 8.
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(|e| e.to_string())?;
    if reader.info().interlaced { interlaced(&mut reader, by) } else { row_by_row(&mut reader, by) }
}

/// Reads the rows in order, and holds the sums of a row of the result.
fn row_by_row(reader: &mut PngReader<'_>, by: u32) -> Result<RgbImage, String> {
    let (width, height) = (reader.info().width, reader.info().height);
    let mut picture = RgbImage::new(width.div_ceil(by), height.div_ceil(by));
    let mut sums = vec![0; picture.width() as usize * 3];
    for y in 0..height {
        add_row(reader, &mut sums, |x| x / by as usize)?;
        if (y + 1) % by == 0 || y + 1 == height {
            let rows = y % by + 1;
            store_means(&mut picture, y / by, &sums, [by, rows, width]);
            sums.fill(0);
        }
    }
    Ok(picture)
}

/// Reads the rows of all passes, and holds the sums of the whole result.
fn interlaced(reader: &mut PngReader<'_>, by: u32) -> Result<RgbImage, String> {
    let (width, height) = (reader.info().width, reader.info().height);
    let mut picture = RgbImage::new(width.div_ceil(by), height.div_ceil(by));
    let line = picture.width() as usize * 3;
    let mut sums = vec![0; line * picture.height() as usize];
    for [first_x, first_y, across, down] in PASSES.into_iter().filter(|&[x, y, ..]| x < width && y < height) {
        for y in (first_y..height).step_by(down as usize) {
            let sums = &mut sums[(y / by) as usize * line..][..line];
            add_row(reader, sums, |column| (first_x as usize + column * across as usize) / by as usize)?;
        }
    }
    for (y, sums) in sums.chunks_exact(line).enumerate() {
        let rows = by.min(height - y as u32 * by);
        store_means(&mut picture, y as u32, sums, [by, rows, width]);
    }
    Ok(picture)
}

/// Reads the next row, and adds each pixel to the sums of the pixel `place`. At most 16 pixels have a common sum, so
/// that 16 bits suffice.
fn add_row(reader: &mut PngReader<'_>, sums: &mut [u16], place: impl Fn(usize) -> usize) -> Result<(), String> {
    let channels = reader.output_color_type().0.samples();
    let row = reader.next_interlaced_row().map_err(|e| e.to_string())?.ok_or("it has fewer rows than it states")?;
    for (x, pixel) in row.data().chunks_exact(channels).enumerate() {
        let [red, green, blue, alpha] = match *pixel {
            [grey] => [grey, grey, grey, 255],
            [grey, alpha] => [grey, grey, grey, alpha],
            [red, green, blue] => [red, green, blue, 255],
            [red, green, blue, alpha] => [red, green, blue, alpha],
            _ => return Err(format!("its pixels have {channels} channels")),
        };
        let sum = &mut sums[place(x) * 3..][..3];
        for (sum, colour) in sum.iter_mut().zip([red, green, blue]) {
            *sum += u16::from(on_white(colour, alpha));
        }
    }
    Ok(())
}

/// Stores row `y` of the result from the sums of squares of `by` columns and `rows` rows, in a picture of `width`.
fn store_means(picture: &mut RgbImage, y: u32, sums: &[u16], [by, rows, width]: [u32; 3]) {
    for (x, sum) in sums.chunks_exact(3).enumerate() {
        // A square at the right edge may be narrower.
        let count = by.min(width - x as u32 * by) * rows;
        let mean = |at: usize| ((u32::from(sum[at]) + count / 2) / count) as u8;
        picture.put_pixel(x as u32, y, image::Rgb([mean(0), mean(1), mean(2)]));
    }
}

/// Reads a JPEG at a half, a quarter or an eighth of its extents, by smaller inverse transforms.
pub(super) fn jpeg(
    path: &Path,
    bytes: &[u8],
    [width, height]: [usize; 2],
    by: u32,
    coding: Coding,
) -> Result<RgbImage, String> {
    if coding == Coding::Progressive {
        return Err(progressive(path, width, height));
    }
    let mut decoder = Decoder::new(bytes);
    let scaled = |extent: usize| u16::try_from(extent.div_ceil(by as usize)).unwrap_or(u16::MAX);
    let (width, height) = decoder.scale(scaled(width), scaled(height)).map_err(|e| e.to_string())?;
    let values = decoder.decode().map_err(|e| e.to_string())?;
    let pixels = usize::from(width) * usize::from(height);
    let values = match values.len().checked_div(pixels) {
        Some(1) => values.into_iter().flat_map(|grey| [grey; 3]).collect(),
        Some(3) => values,
        Some(4) => without_ink(values),
        _ => return Err("it has neither one, three nor four colours".into()),
    };
    RgbImage::from_raw(width.into(), height.into(), values).ok_or_else(|| "its pixels are not of its extents".into())
}

/// Turns pixels of four inks into red, green and blue in place, as the decoder of smaller pictures does.
fn without_ink(mut values: Vec<u8>) -> Vec<u8> {
    let pixels = values.len() / 4;
    for pixel in 0..pixels {
        let [cyan, magenta, yellow, black] = [0, 1, 2, 3].map(|ink| 255 - u32::from(values[pixel * 4 + ink]));
        for (at, light) in [cyan, magenta, yellow].into_iter().enumerate() {
            values[pixel * 3 + at] = ((light * black + 127) / 255) as u8;
        }
    }
    values.truncate(pixels * 3);
    values
}

/// Explains why a progressive JPEG is refused. Every scan adds to all of its coefficients of 16 bits.
fn progressive(path: &Path, width: usize, height: usize) -> String {
    let needed = width.saturating_mul(height).saturating_mul(3 * size_of::<i16>()) >> 20;
    let [file, baseline] = [path, &path.with_extension("baseline.jpg")].map(shell_word);
    format!(
        "it is {width}x{height} and progressive, so that up to {needed} MiB would be held at once, and {} MiB is the \
         limit; rewrite it without loss by `jpegtran -copy all -outfile {baseline} {file}`",
        MAX_PROGRESSIVE_BYTES >> 20
    )
}

/// Memory for the coefficients of the largest progressive JPEG, which has 64 Mi pixels of three colours.
const MAX_PROGRESSIVE_BYTES: usize = (64 << 20) * 3 * size_of::<i16>();

/// Returns the command that makes a picture smaller; it writes beside the picture.
pub(super) fn shrinking(path: &Path) -> String {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or("png");
    let small = path.with_extension(format!("small.{extension}"));
    let name = small.file_name().map(Path::new).unwrap_or(&small);
    format!("scale it down by `vipsthumbnail {} --size 8192 -o {}`", shell_word(path), shell_word(name))
}
