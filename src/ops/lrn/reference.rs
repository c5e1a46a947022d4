//! CPU reference of local response normalization.

use crate::{graph::Lrn, ops::reference::view::View};

/// Computes `x / (bias + alpha / size * sum of squares)^beta` over a window of channels.
pub(crate) fn lrn(x: &View<'_>, &Lrn { size, alpha, beta, bias }: &Lrn) -> Vec<f32> {
    let mut values = Vec::with_capacity(x.data.len());
    for pixel in x.data.chunks(x.shape.c.max(1)) {
        for (c, &value) in pixel.iter().enumerate() {
            let first = c.saturating_sub((size - 1) / 2);
            let window = &pixel[first..(c + size / 2 + 1).min(pixel.len())];
            let squares: f32 = window.iter().map(|v| v * v).sum();
            values.push(value / (bias + alpha / size as f32 * squares).powf(beta));
        }
    }
    values
}
