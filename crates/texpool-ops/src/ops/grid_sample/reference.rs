//! CPU reference of grid sampling.

use super::GridSample;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, each},
};

impl Reference for GridSample {
    /// Samples each position. NaN coordinates give NaN.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let grid = &operands.get(1)?;
        let GridSample { linear, border, align_corners } = *self;
        let Shape { h, w, .. } = x.shape;
        // Returns the pixel index `floor + behind`.
        let index = |floor: f32, behind: isize, extent: usize| {
            let index = floor as isize + behind;
            let last = extent as isize - 1;
            if border { Some(index.clamp(0, last)) } else { (0..=last).contains(&index).then_some(index) }
        };
        Ok(each(out, |[b, oy, ox, c]| {
            let place = [0, 1].map(|axis| grid.at([b, oy, ox, axis]));
            let [px, py] = [position(place[0], w, align_corners), position(place[1], h, align_corners)];
            if px.is_nan() || py.is_nan() {
                return f32::NAN;
            }
            let pixel = |y: Option<isize>, x_at: Option<isize>| match (y, x_at) {
                (Some(y), Some(x_at)) => x.at([b, y as usize, x_at as usize, c]),
                _ => 0.0,
            };
            if !linear {
                return pixel(index(py.round_ties_even(), 0, h), index(px.round_ties_even(), 0, w));
            }
            // Farther than one pixel from the image the result does not change; clamping keeps the weights finite.
            let [px, py] = [px.clamp(-2.0, w as f32 + 1.0), py.clamp(-2.0, h as f32 + 1.0)];
            let (x0, y0) = (px.floor(), py.floor());
            let (right, down) = (px - x0, py - y0);
            let row = |y: Option<isize>| pixel(y, index(x0, 0, w)) * (1.0 - right) + pixel(y, index(x0, 1, w)) * right;
            row(index(y0, 0, h)) * (1.0 - down) + row(index(y0, 1, h)) * down
        }))
    }
}

/// Converts a coordinate from -1 to 1 to a position among `extent` pixels.
fn position(coordinate: f32, extent: usize, align_corners: bool) -> f32 {
    let extent = extent as f32;
    if align_corners { (coordinate + 1.0) * 0.5 * (extent - 1.0) } else { ((coordinate + 1.0) * extent - 1.0) * 0.5 }
}
