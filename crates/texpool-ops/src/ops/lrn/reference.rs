//! CPU reference of local response normalization.

use super::Lrn;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError},
};

impl Reference for Lrn {
    /// Computes `x / (bias + alpha / size * sum of squares)^beta` over a window of channels.
    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let &Lrn { size, alpha, beta, bias } = self;
        let mut values = Vec::with_capacity(x.data.len());
        for pixel in x.data.chunks(x.shape.c.max(1)) {
            for (c, &value) in pixel.iter().enumerate() {
                let first = c.saturating_sub((size - 1) / 2);
                let window = &pixel[first..(c + size / 2 + 1).min(pixel.len())];
                let squares: f32 = window.iter().map(|v| v * v).sum();
                values.push(value / (bias + alpha / size as f32 * squares).powf(beta));
            }
        }
        Ok(values)
    }
}
