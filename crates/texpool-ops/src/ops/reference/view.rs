//! Dense arrays with their extents.

use std::borrow::Cow;

use crate::graph::Shape;

/// Values in dense `B, H, W, C` order.
pub(crate) struct View<'a> {
    pub(crate) shape: Shape,
    pub(crate) data: Cow<'a, [f32]>,
}

impl View<'_> {
    /// Returns one element.
    pub(crate) fn at(&self, [b, h, w, c]: [usize; 4]) -> f32 {
        self.data[self.shape.index(b, h, w, c)]
    }

    /// Returns all channels of a pixel.
    pub(crate) fn pixel(&self, b: usize, h: usize, w: usize) -> &[f32] {
        let start = self.shape.index(b, h, w, 0);
        &self.data[start..start + self.shape.c]
    }
}

/// Computes every element of a tensor from its indices.
pub(crate) fn each(shape: Shape, mut element: impl FnMut([usize; 4]) -> f32) -> Vec<f32> {
    let mut values = Vec::with_capacity(shape.len());
    each_pixel(shape, |b, h, w| {
        for c in 0..shape.c {
            values.push(element([b, h, w, c]));
        }
    });
    values
}

/// Visits every pixel of a tensor in dense order.
pub(crate) fn each_pixel(shape: Shape, mut pixel: impl FnMut(usize, usize, usize)) {
    for b in 0..shape.b {
        for h in 0..shape.h {
            for w in 0..shape.w {
                pixel(b, h, w);
            }
        }
    }
}

/// Returns `start + tap - before` if that is in `0..extent`.
pub(crate) fn inside(start: usize, tap: usize, before: usize, extent: usize) -> Option<usize> {
    (start + tap).checked_sub(before).filter(|&i| i < extent)
}

/// Returns the dot product of two slices.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

/// Returns the bias of output channel `o`.
pub(crate) fn bias_of(bias: Option<&View<'_>>, o: usize) -> f32 {
    bias.map_or(0.0, |bias| bias.data[o])
}
