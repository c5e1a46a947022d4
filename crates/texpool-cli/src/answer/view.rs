//! The part of a picture that a network sees.

use crate::io::Frame;

/// The part of a picture that a network sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// That part, in pixels of the picture.
    pub frame: Frame,
    /// Width and height of the network's input.
    pub input: [usize; 2],
    /// Width and height of the picture.
    pub picture: [u32; 2],
}

impl View {
    /// Returns the view of an input that shows no picture: coordinates are pixels of the input.
    pub fn of_input(width: usize, height: usize) -> Self {
        let frame = Frame { x: 0.0, y: 0.0, width: width as f32, height: height as f32 };
        Self { frame, input: [width, height], picture: [width as u32, height as u32] }
    }

    /// Converts a point from shares of the input (0 to 1) to pixels of the picture.
    pub(super) fn at(&self, x: f32, y: f32) -> [f32; 2] {
        self.frame.at(x, y)
    }

    /// Converts a point from pixels of the input to pixels of the picture.
    pub(super) fn at_pixel(&self, x: f32, y: f32) -> [f32; 2] {
        self.at(x / self.input[0] as f32, y / self.input[1] as f32)
    }

    /// Converts a rectangle (left, top, right, bottom) from shares of the input to pixels of the picture, cut at its
    /// edges.
    pub(super) fn bounds(&self, [left, top, right, bottom]: [f32; 4]) -> [f32; 4] {
        let ([x0, y0], [x1, y1]) = (self.at(left, top), self.at(right, bottom));
        let [width, height] = self.picture.map(|extent| extent as f32);
        [x0.clamp(0.0, width), y0.clamp(0.0, height), x1.clamp(0.0, width), y1.clamp(0.0, height)]
    }

    /// Like [`bounds`](Self::bounds), from pixels of the input.
    pub(super) fn bounds_of_pixels(&self, [left, top, right, bottom]: [f32; 4]) -> [f32; 4] {
        let [width, height] = self.input.map(|extent| extent as f32);
        self.bounds([left / width, top / height, right / width, bottom / height])
    }
}
