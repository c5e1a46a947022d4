//! Convolutions.

use super::view::{View, each_pixel, inside};
use crate::graph::{Conv2d, Shape, TransposeConv};

fn bias_of(bias: Option<&View<'_>>, o: usize) -> f32 {
    bias.map_or(0.0, |bias| bias.data[o])
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

/// `weights [O, KH, KW, I / groups]`
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

/// `weights [1, KH, KW, O]`; output channel `o` reads input channel `o / multiplier`.
pub(crate) fn depthwise(
    x: &View<'_>,
    weights: &View<'_>,
    bias: Option<View<'_>>,
    conv: &Conv2d,
    out: Shape,
) -> Vec<f32> {
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
    values
}

/// `weights [O, KH, KW, I / groups]`; each input pixel adds its kernel to the result, in the scatter form of the definition.
pub(crate) fn transpose(
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
    for (i, value) in values.iter_mut().enumerate() {
        *value += bias_of(bias.as_ref(), i % out.c);
    }
    values
}
