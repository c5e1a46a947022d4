//! Draws boxes and points on a picture.

use image::{Rgb, RgbImage};

/// Draws a frame three pixels thick, clipped to the picture.
pub(crate) fn rectangle(picture: &mut RgbImage, [left, top]: [f32; 2], [right, bottom]: [f32; 2], colour: [u8; 3]) {
    let [left, top, right, bottom] = [left, top, right, bottom].map(|v| v.round() as i64);
    for inset in 0..3 {
        for x in left..=right {
            dot(picture, x, top + inset, colour);
            dot(picture, x, bottom - inset, colour);
        }
        for y in top..=bottom {
            dot(picture, left + inset, y, colour);
            dot(picture, right - inset, y, colour);
        }
    }
}

/// Draws a disc with a radius of four pixels.
pub(crate) fn disc(picture: &mut RgbImage, [x, y]: [f32; 2], colour: [u8; 3]) {
    for dy in -4..=4i64 {
        for dx in -4..=4 {
            if dx * dx + dy * dy <= 16 {
                dot(picture, x.round() as i64 + dx, y.round() as i64 + dy, colour);
            }
        }
    }
}

fn dot(picture: &mut RgbImage, x: i64, y: i64, colour: [u8; 3]) {
    if let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y))
        && let Some(pixel) = picture.get_pixel_mut_checked(x, y)
    {
        *pixel = Rgb(colour);
    }
}
