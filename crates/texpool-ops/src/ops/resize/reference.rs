//! CPU references of resizes: TensorFlow Lite's conventions in the 32-bit arithmetic of its reference kernels, all
//! others from their taps.

use super::{Coords, Resize, TensorFlowResize};
use crate::{
    graph::{CoordMode, ResizeAxis, ResizeMode, Shape},
    ops::reference::{Operands, Reference, ReferenceError, View, each},
};

impl Reference for Resize {
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = operands.get(0)?;
        Ok(match TensorFlowResize::of(self) {
            Some(resize) => tensorflow(&x, resize, out),
            None => taps(&x, self, out),
        })
    }
}

/// Resizes in one of TensorFlow Lite's conventions.
pub(crate) fn tensorflow(
    x: &View<'_>,
    TensorFlowResize { bilinear, coords }: TensorFlowResize,
    out: Shape,
) -> Vec<f32> {
    let scale = [scale(x.shape.h, out.h, coords), scale(x.shape.w, out.w, coords)];
    if !bilinear {
        return each(out, |[b, oy, ox, c]| {
            let y = nearest(oy, scale[0], x.shape.h, coords);
            x.at([b, y, nearest(ox, scale[1], x.shape.w, coords), c])
        });
    }
    each(out, |[b, oy, ox, c]| {
        let (y0, y1, v) = between(oy, scale[0], x.shape.h, coords);
        let (x0, x1, u) = between(ox, scale[1], x.shape.w, coords);
        x.at([b, y0, x0, c]) * (1.0 - v) * (1.0 - u)
            + x.at([b, y1, x0, c]) * v * (1.0 - u)
            + x.at([b, y0, x1, c]) * (1.0 - v) * u
            + x.at([b, y1, x1, c]) * v * u
    })
}

/// Resizes in any convention, in the order of ONNX Runtime: sums the four products of a linear resize, and of a cubic one
/// each row of taps from left to right, then the rows from top to bottom.
pub(crate) fn taps(x: &View<'_>, resize: &Resize, out: Shape) -> Vec<f32> {
    let extrapolation =
        if let CoordMode::TfCropAndResize { extrapolation, .. } = resize.coords { extrapolation } else { 0.0 };
    let down = ResizeAxis::new(resize, 0, x.shape.h, out.h);
    let across = ResizeAxis::new(resize, 1, x.shape.w, out.w);
    each(out, |[b, oy, ox, c]| {
        let (Some(rows), Some(columns)) = (down.at(oy), across.at(ox)) else { return extrapolation };
        let pixel = |row: usize, tap: usize| x.at([b, rows.pixel(row, x.shape.h), columns.pixel(tap, x.shape.w), c]);
        let taps = 0..across.taps();
        let pairs = || taps.clone().flat_map(|row| taps.clone().map(move |tap| (row, tap)));
        if resize.mode == ResizeMode::Linear {
            let product = |(row, tap): (usize, usize)| rows.weights[row] * columns.weights[tap] * pixel(row, tap);
            return pairs().map(product).sum();
        }
        if resize.mode == ResizeMode::LinearInteger {
            let product = |(row, tap): (usize, usize)| {
                rows.weights[row] as i64 * columns.weights[tap] as i64 * pixel(row, tap) as i64
            };
            let unit = ResizeAxis::PARTS as i64 * ResizeAxis::PARTS as i64;
            return (pairs().map(product).sum::<i64>() / unit) as f32;
        }
        let line = |row: usize| -> f32 { taps.clone().map(|tap| columns.weights[tap] * pixel(row, tap)).sum() };
        taps.clone().map(|row| rows.weights[row] * line(row)).sum()
    })
}

/// Returns input pixels per output pixel.
fn scale(input: usize, output: usize, coords: Coords) -> f32 {
    if coords == Coords::AlignCorners && output > 1 {
        (input - 1) as f32 / (output - 1) as f32
    } else {
        input as f32 / output as f32
    }
}

/// Returns the input pixel nearest to output pixel `i`. With aligned corners, halves are rounded away from zero;
/// otherwise, the result is the pixel that contains the position.
fn nearest(i: usize, scale: f32, extent: usize, coords: Coords) -> usize {
    let position = match coords {
        Coords::HalfPixel => ((i as f32 + 0.5) * scale).floor(),
        Coords::AlignCorners => (i as f32 * scale).round(),
        Coords::Asymmetric => (i as f32 * scale).floor(),
    };
    (position as usize).min(extent - 1)
}

/// Returns the input pixels on both sides of output pixel `i`, and the weight of the second.
fn between(i: usize, scale: f32, extent: usize, coords: Coords) -> (usize, usize, f32) {
    let position = match coords {
        Coords::HalfPixel => (i as f32 + 0.5) * scale - 0.5,
        Coords::Asymmetric | Coords::AlignCorners => i as f32 * scale,
    };
    let lower = position.floor().max(0.0);
    let upper = (position.ceil().max(0.0) as usize).min(extent - 1);
    (lower as usize, upper, position - lower)
}
