//! Draws boxes, points, tints and labels on a picture.

use super::font;
use image::{Rgb, RgbImage};

/// Colours that differ on most photos, in the order of use.
const COLOURS: [[u8; 3]; 8] = [
    [40, 220, 60],
    [240, 60, 60],
    [70, 140, 255],
    [255, 190, 30],
    [220, 80, 230],
    [40, 220, 220],
    [255, 130, 60],
    [170, 230, 40],
];

/// Returns the colour of a class or of a number in a list.
pub(super) fn colour(index: usize) -> [u8; 3] {
    COLOURS[index % COLOURS.len()]
}

/// A picture that is drawn on. Lines and letters grow with it.
pub(super) struct Canvas<'a> {
    picture: &'a mut RgbImage,
    /// Width of a line, and edge of a letter's pixel.
    unit: i64,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(picture: &'a mut RgbImage) -> Self {
        let unit = i64::from(picture.width().max(picture.height()) / 300).max(1);
        Self { picture, unit }
    }

    /// Draws a frame around a box (left, top, right, bottom).
    pub(super) fn rectangle(&mut self, bounds: [f32; 4], colour: [u8; 3]) {
        // A detector may answer with any number, and no pixel beyond the picture needs to be visited.
        let [left, top, right, bottom] = self.cut(bounds);
        for inset in 0..2 * self.unit {
            for x in left..=right {
                self.dot(x, top + inset, colour);
                self.dot(x, bottom - inset, colour);
            }
            for y in top..=bottom {
                self.dot(left + inset, y, colour);
                self.dot(right - inset, y, colour);
            }
        }
    }

    /// Draws a disc.
    pub(super) fn disc(&mut self, [x, y]: [f32; 2], colour: [u8; 3]) {
        let [x, y, ..] = self.cut([x, y, x, y]);
        let radius = (3 * self.unit + 1) / 2;
        for dy in -radius..=radius {
            for dx in -radius..=radius {
                if dx * dx + dy * dy <= radius * radius {
                    self.dot(x + dx, y + dy, colour);
                }
            }
        }
    }

    /// Mixes a colour into each pixel for which `colour` returns one.
    pub(super) fn tint(&mut self, colour: impl Fn(u32, u32) -> Option<[u8; 3]>) {
        for (x, y, pixel) in self.picture.enumerate_pixels_mut() {
            if let Some(colour) = colour(x, y) {
                *pixel = Rgb(std::array::from_fn(|i| u8::midpoint(pixel.0[i], colour[i])));
            }
        }
    }

    /// Writes a label above a place, or below its top where there is no room.
    pub(super) fn label(&mut self, [x, y]: [f32; 2], text: &str, colour: [u8; 3]) {
        let [x, y, ..] = self.cut([x, y, x, y]);
        let height = (font::HEIGHT as i64 + 2) * self.unit;
        let width = (text.chars().count() * font::ADVANCE + 1) as i64 * self.unit;
        let x = x.min(i64::from(self.picture.width()) - width).max(0);
        self.write([x, if y >= height { y - height } else { y }], text, colour);
    }

    /// Writes a line of a list into the picture's upper left corner.
    pub(super) fn line_of_text(&mut self, line: usize, text: &str, colour: [u8; 3]) {
        let height = (font::HEIGHT as i64 + 3) * self.unit;
        self.write([2 * self.unit, 2 * self.unit + line as i64 * height], text, colour);
    }

    /// Writes black letters on the colour.
    fn write(&mut self, [left, top]: [i64; 2], text: &str, colour: [u8; 3]) {
        let unit = self.unit;
        let letters: Vec<char> = text.chars().take(self.picture.width() as usize / font::ADVANCE + 1).collect();
        let (width, height) = ((letters.len() * font::ADVANCE + 1) as i64, font::HEIGHT as i64 + 2);
        for y in 0..height * unit {
            for x in 0..width * unit {
                self.dot(left + x, top + y, colour);
            }
        }
        for (i, letter) in letters.into_iter().enumerate() {
            for (column, row) in font::pixels(letter) {
                let x = left + (1 + (i * font::ADVANCE + column) as i64) * unit;
                let y = top + (1 + row as i64) * unit;
                for dy in 0..unit {
                    for dx in 0..unit {
                        self.dot(x + dx, y + dy, [0; 3]);
                    }
                }
            }
        }
    }

    /// Rounds a box to pixels, cut a little outside the picture.
    fn cut(&self, [left, top, right, bottom]: [f32; 4]) -> [i64; 4] {
        let margin = 8.0 * self.unit as f32;
        let at = |value: f32, extent: u32| value.round().clamp(-margin, extent as f32 + margin) as i64;
        let (width, height) = self.picture.dimensions();
        [at(left, width), at(top, height), at(right, width), at(bottom, height)]
    }

    fn dot(&mut self, x: i64, y: i64, colour: [u8; 3]) {
        if let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y))
            && let Some(pixel) = self.picture.get_pixel_mut_checked(x, y)
        {
            *pixel = Rgb(colour);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Canvas;
    use image::{Rgb, RgbImage};

    #[test]
    fn drawing_outside_the_picture_is_cut() {
        let mut picture = RgbImage::new(40, 30);
        let mut canvas = Canvas::new(&mut picture);
        canvas.rectangle([-1e30, 5.0, 1e30, f32::MAX], [255; 3]);
        canvas.disc([f32::MIN, 1e9], [255; 3]);
        canvas.label([39.0, 0.0], "A LONG LABEL BEYOND THE EDGE", [9; 3]);
        canvas.tint(|x, y| (x == 39 && y == 29).then_some([100; 3]));
        assert_eq!(picture.get_pixel(20, 12), &Rgb([0; 3]));
        assert_eq!(picture.get_pixel(39, 29), &Rgb([50; 3]));
        assert_eq!(picture.get_pixel(0, 0), &Rgb([9; 3]));
    }

    #[test]
    fn a_frame_is_on_the_edge_of_its_box() {
        let mut picture = RgbImage::new(40, 30);
        Canvas::new(&mut picture).rectangle([5.0, 6.0, 20.0, 21.0], [255; 3]);
        let lit = |x: u32, y: u32| picture.get_pixel(x, y).0[0] > 0;
        assert!(lit(5, 6) && lit(20, 21) && lit(6, 10) && !lit(4, 6) && !lit(12, 12) && !lit(21, 21));
    }
}
