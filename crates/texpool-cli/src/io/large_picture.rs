//! Reduces pictures that are too large to decode completely by a power of two during decoding. Holds no more than the
//! reduced picture and a few rows of the large one.

use super::complete::Coding;
use image::RgbImage;
use jpeg_decoder::Decoder;
use png::Transformations;
use std::io::Cursor;

/// Limit on the memory of a PNG row and of the decoder.
const MAX_ROW_BYTES: usize = 64 << 20;

/// Blends a colour with a white background, rounded to the nearest value.
pub(super) fn on_white(colour: u8, alpha: u8) -> u8 {
    let (colour, alpha) = (u32::from(colour), u32::from(alpha));
    ((colour * alpha + 255 * (255 - alpha) + 127) / 255) as u8
}

/// Reads a PNG row by row. Each pixel of the result is the mean of a square of `by` by `by` pixels.
pub(super) fn png(bytes: &[u8], by: u32) -> Result<RgbImage, String> {
    let said = |e: png::DecodingError| e.to_string();
    let limits = png::Limits { bytes: MAX_ROW_BYTES };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    // Palettes become colours, and 16 bits become 8.
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(said)?;
    let (width, height) = (reader.info().width, reader.info().height);
    if reader.info().interlaced {
        return Err(format!("it is {width}x{height} and interlaced, which only smaller ones may be; save it without"));
    }
    let channels = reader.output_color_type().0.samples();
    let mut picture = RgbImage::new(width.div_ceil(by), height.div_ceil(by));
    let mut sums = vec![0u32; picture.width() as usize * 3];
    let mut rows = 0;
    for y in 0..height {
        let row = reader.next_row().map_err(said)?.ok_or("it has fewer rows than it states")?;
        for (x, pixel) in row.data().chunks_exact(channels).enumerate() {
            let [red, green, blue, alpha] = match *pixel {
                [grey] => [grey, grey, grey, 255],
                [grey, alpha] => [grey, grey, grey, alpha],
                [red, green, blue] => [red, green, blue, 255],
                [red, green, blue, alpha] => [red, green, blue, alpha],
                _ => return Err(format!("its pixels have {channels} channels")),
            };
            let sum = &mut sums[x / by as usize * 3..][..3];
            for (sum, colour) in sum.iter_mut().zip([red, green, blue]) {
                *sum += u32::from(on_white(colour, alpha));
            }
        }
        rows += 1;
        if rows == by || y + 1 == height {
            for (x, sum) in sums.chunks_exact_mut(3).enumerate() {
                // A square at the right edge may be narrower.
                let columns = by.min(width - x as u32 * by);
                let count = columns * rows;
                let mean = |at: usize| ((sum[at] + count / 2) / count) as u8;
                picture.put_pixel(x as u32, y / by, image::Rgb([mean(0), mean(1), mean(2)]));
                sum.fill(0);
            }
            rows = 0;
        }
    }
    Ok(picture)
}

/// Reads a JPEG at a half, a quarter or an eighth of its extents, by smaller inverse transforms.
pub(super) fn jpeg(bytes: &[u8], [width, height]: [usize; 2], by: u32, coding: Coding) -> Result<RgbImage, String> {
    if coding == Coding::Progressive {
        return Err(format!(
            "it is {width}x{height} and progressive, so that all of it would have to be held at once; save it as a \
             baseline JPEG, or smaller"
        ));
    }
    let mut decoder = Decoder::new(bytes);
    let scaled = |extent: usize| u16::try_from(extent.div_ceil(by as usize)).unwrap_or(u16::MAX);
    let (width, height) = decoder.scale(scaled(width), scaled(height)).map_err(|e| e.to_string())?;
    let values = decoder.decode().map_err(|e| e.to_string())?;
    let pixels = usize::from(width) * usize::from(height);
    let values = match values.len().checked_div(pixels) {
        Some(1) => values.into_iter().flat_map(|grey| [grey; 3]).collect(),
        Some(3) => values,
        _ => return Err("it is neither grey nor of three colours, which only smaller ones may be".into()),
    };
    RgbImage::from_raw(width.into(), height.into(), values).ok_or_else(|| "its pixels are not of its extents".into())
}
