//! CPU reference of depthwise convolutions.

use super::DepthwiseConv2d;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, bias_of, each_pixel, inside},
};

impl Reference for DepthwiseConv2d {
    /// Computes a depthwise convolution with weights `[1, KH, KW, O]`; output channel `o` reads input channel `o /
    /// multiplier`.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let weights = &operands.get(1)?;
        let bias = operands.optional(2)?;
        let conv = &self.0;
        let kernel = weights.shape;
        let multiplier = (out.c / x.shape.c.max(1)).max(1);
        let mut values = Vec::with_capacity(out.len());
        each_pixel(out, |b, oy, ox| {
            let mut sums = vec![0.0; out.c];
            for ky in 0..kernel.h {
                let y = inside(oy * conv.stride[0], ky * conv.dilation[0], conv.padding.top, x.shape.h);
                let Some(y) = y else { continue };
                for kx in 0..kernel.w {
                    let column = inside(ox * conv.stride[1], kx * conv.dilation[1], conv.padding.left, x.shape.w);
                    let Some(column) = column else { continue };
                    let (pixel, tap) = (x.pixel(b, y, column), weights.pixel(0, ky, kx));
                    for (o, sum) in sums.iter_mut().enumerate() {
                        *sum += pixel[o / multiplier] * tap[o];
                    }
                }
            }
            values.extend(sums.iter().enumerate().map(|(o, sum)| sum + bias_of(bias.as_ref(), o)));
        });
        Ok(values)
    }
}
