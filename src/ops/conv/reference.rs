//! CPU reference of 2-D convolutions.

use crate::{
    graph::{Conv2d, Shape},
    ops::reference::view::{View, bias_of, dot, each_pixel, inside},
};

/// Computes a convolution with weights `[O, KH, KW, I / groups]`.
pub(crate) fn conv2d(x: &View<'_>, weights: &View<'_>, bias: Option<View<'_>>, conv: &Conv2d, out: Shape) -> Vec<f32> {
    let kernel = weights.shape;
    let per_group = out.c / conv.groups.max(1);
    let mut values = Vec::with_capacity(out.len());
    each_pixel(out, |b, oy, ox| {
        for o in 0..out.c {
            let first = o / per_group.max(1) * kernel.c;
            let mut sum = 0.0;
            for ky in 0..kernel.h {
                let y = inside(oy * conv.stride[0], ky * conv.dilation[0], conv.padding.top, x.shape.h);
                // Padding is skipped instead of multiplied, because infinite weights times zero would give NaN.
                let Some(y) = y else { continue };
                for kx in 0..kernel.w {
                    let column = inside(ox * conv.stride[1], kx * conv.dilation[1], conv.padding.left, x.shape.w);
                    let Some(column) = column else { continue };
                    let pixel = &x.pixel(b, y, column)[first..first + kernel.c];
                    sum += dot(pixel, weights.pixel(o, ky, kx));
                }
            }
            values.push(sum + bias_of(bias.as_ref(), o));
        }
    });
    values
}
