//! CPU reference of transposed convolutions.

use crate::{
    graph::{Shape, TransposeConv},
    ops::reference::view::{View, bias_of, dot, each_pixel, inside},
};

/// Adds the kernel of each input pixel to the result, in the scatter form of the definition. The weights are `[O, KH,
/// KW, I / groups]`.
pub(crate) fn transpose_conv(
    x: &View<'_>,
    weights: &View<'_>,
    bias: Option<View<'_>>,
    conv: &TransposeConv,
    out: Shape,
) -> Vec<f32> {
    let kernel = weights.shape;
    let per_group = out.c / conv.groups.max(1);
    let mut values = vec![0.0; out.len()];
    each_pixel(x.shape, |b, y, column| {
        for ky in 0..kernel.h {
            let Some(oy) = inside(y * conv.stride[0], ky * conv.dilation[0], conv.padding.top, out.h) else { continue };
            for kx in 0..kernel.w {
                let Some(ox) = inside(column * conv.stride[1], kx * conv.dilation[1], conv.padding.left, out.w) else {
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
    values
}
