//! CPU reference of space to depth.

use crate::{
    graph::Shape,
    ops::reference::view::{View, each},
};

/// Moves pixels to channels; the inverse of depth to space.
pub(crate) fn space_to_depth(x: &View<'_>, block: usize, out: Shape) -> Vec<f32> {
    each(out, |[b, h, w, c]| {
        let (pixel, channel) = (c / x.shape.c, c % x.shape.c);
        x.at([b, h * block + pixel / block, w * block + pixel % block, channel])
    })
}
