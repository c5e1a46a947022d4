//! Operators that move values about and compute nothing.

use super::view::{View, each};
use crate::graph::{DepthOrder, Shape};

/// Parts one behind another along an axis.
pub(crate) fn concat(parts: &[View<'_>], axis: usize, out: Shape) -> Vec<f32> {
    let mut values = vec![0.0; out.len()];
    let mut offset = 0;
    for part in parts {
        let mut data = part.data.iter();
        each(part.shape, |mut index| {
            index[axis] += offset;
            let [b, h, w, c] = index;
            let value = data.next().copied().unwrap_or_default();
            values[out.index(b, h, w, c)] = value;
            value
        });
        offset += part.shape.dims()[axis];
    }
    values
}

/// Output index `i` of an axis reads `begin + i * stride`.
pub(crate) fn slice(x: &View<'_>, begin: [usize; 4], stride: [isize; 4], out: Shape) -> Vec<f32> {
    each(out, |index| {
        x.at(std::array::from_fn(|axis| begin[axis].wrapping_add_signed(index[axis] as isize * stride[axis])))
    })
}

/// Output axis `i` is input axis `perm[i]`.
pub(crate) fn transpose(x: &View<'_>, perm: [usize; 4], out: Shape) -> Vec<f32> {
    each(out, |index| {
        let mut from = [0; 4];
        for (axis, &source) in perm.iter().enumerate() {
            from[source] = index[axis];
        }
        x.at(from)
    })
}

/// Channels to pixels; in a block lie its row, its column and the channel in the order stated.
pub(crate) fn depth_to_space(x: &View<'_>, block: usize, order: DepthOrder, out: Shape) -> Vec<f32> {
    each(out, |[b, h, w, c]| {
        let pixel = h % block * block + w % block;
        let channel = match order {
            DepthOrder::Dcr => pixel * out.c + c,
            DepthOrder::Crd => c * block * block + pixel,
        };
        x.at([b, h / block, w / block, channel])
    })
}

/// Pixels to channels: the inverse.
pub(crate) fn space_to_depth(x: &View<'_>, block: usize, out: Shape) -> Vec<f32> {
    each(out, |[b, h, w, c]| {
        let (pixel, channel) = (c / x.shape.c, c % x.shape.c);
        x.at([b, h * block + pixel / block, w * block + pixel % block, channel])
    })
}
