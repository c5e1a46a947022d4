//! CPU reference of transposed convolutions.

use super::TransposeConv;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, bias_of, dot, each_pixel, inside},
};

impl Reference for TransposeConv {
    /// Adds the kernel of each input pixel to the result, in the scatter form of the definition. The weights are
    /// `[O, KH, KW, I / groups]`.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let weights = &operands.get(1)?;
        let bias = operands.optional(2)?;
        let kernel = weights.shape;
        let per_group = out.c / self.groups.max(1);
        let mut values = vec![0.0; out.len()];
        each_pixel(x.shape, |b, y, column| {
            for ky in 0..kernel.h {
                let Some(oy) = inside(y * self.stride[0], ky * self.dilation[0], self.padding.top, out.h) else {
                    continue;
                };
                for kx in 0..kernel.w {
                    let Some(ox) = inside(column * self.stride[1], kx * self.dilation[1], self.padding.left, out.w)
                    else {
                        continue;
                    };
                    for o in 0..out.c {
                        let first = o / per_group.max(1) * kernel.c;
                        let pixel = &x.pixel(b, y, column)[first..first + kernel.c];
                        values[out.index(b, oy, ox, o)] += dot(pixel, weights.pixel(o, ky, kx));
                    }
                }
            }
        });
        // Added last, so that pixels without any tap get the bias, too.
        for (i, value) in values.iter_mut().enumerate() {
            *value += bias_of(bias.as_ref(), i % out.c);
        }
        Ok(values)
    }
}
