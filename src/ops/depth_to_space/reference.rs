//! CPU reference of depth to space.

use crate::{
    graph::{DepthOrder, Shape},
    ops::reference::view::{View, each},
};

/// Moves channels to pixels, with the given order of row, column and channel.
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
