//! CPU reference of 2-D convolutions.

use super::Conv2d;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, bias_of, dot, each_pixel, inside},
};

impl Reference for Conv2d {
    /// Computes a convolution with weights `[O, KH, KW, I / groups]`.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let weights = &operands.get(1)?;
        let bias = operands.optional(2)?;
        let kernel = weights.shape;
        let per_group = out.c / self.groups.max(1);
        let mut values = Vec::with_capacity(out.len());
        each_pixel(out, |b, oy, ox| {
            for o in 0..out.c {
                let first = o / per_group.max(1) * kernel.c;
                let mut sum = 0.0;
                for ky in 0..kernel.h {
                    let y = inside(oy * self.stride[0], ky * self.dilation[0], self.padding.top, x.shape.h);
                    // Padding is skipped instead of multiplied, because infinite weights times zero would give NaN.
                    let Some(y) = y else { continue };
                    for kx in 0..kernel.w {
                        let column = inside(ox * self.stride[1], kx * self.dilation[1], self.padding.left, x.shape.w);
                        let Some(column) = column else { continue };
                        let pixel = &x.pixel(b, y, column)[first..first + kernel.c];
                        sum += dot(pixel, weights.pixel(o, ky, kx));
                    }
                }
                values.push(sum + bias_of(bias.as_ref(), o));
            }
        });
        Ok(values)
    }
}
