//! A map of values over the part of a picture that a network sees.

use super::view::View;

/// A map of values over the part of a picture that a network sees.
#[derive(Clone, Debug, PartialEq)]
pub struct Map<T> {
    /// Values, row by row.
    pub values: Vec<T>,
    /// Values of a row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// The part of the picture.
    pub view: View,
}

impl<T: Copy> Map<T> {
    /// Returns the value nearest to a pixel's centre; `None` outside the part that the network sees.
    pub(super) fn at(&self, x: u32, y: u32) -> Option<T> {
        let frame = &self.view.frame;
        let cell = |pixel: u32, start: f32, extent: f32, cells: usize| {
            let share = (pixel as f32 + 0.5 - start) / extent;
            (0.0..1.0).contains(&share).then(|| ((share * cells as f32) as usize).min(cells - 1))
        };
        let x = cell(x, frame.x, frame.width, self.width)?;
        let y = cell(y, frame.y, frame.height, self.height)?;
        self.values.get(y * self.width + x).copied()
    }

    /// Returns true if a cell's centre is inside the picture, and not in a black bar.
    pub(super) fn is_in_picture(&self, x: usize, y: usize) -> bool {
        let [px, py] = self.view.at((x as f32 + 0.5) / self.width as f32, (y as f32 + 0.5) / self.height as f32);
        let [width, height] = self.view.picture.map(|extent| extent as f32);
        (0.0..width).contains(&px) && (0.0..height).contains(&py)
    }

    /// Returns the cells in the picture with their values.
    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, usize, T)> {
        let all = (0..self.height).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        all.zip(&self.values).filter(|((x, y), _)| self.is_in_picture(*x, *y)).map(|((x, y), &value)| (x, y, value))
    }
}
