//! Pools.

use super::view::{View, each, inside};
use crate::graph::{Pool2d, PoolKind, Shape};

/// The greatest or the mean of the window's pixels that lie in the image. A window wholly outside gives zero.
pub(super) fn pool(x: &View<'_>, pool: &Pool2d, out: Shape) -> Vec<f32> {
    each(out, |[b, oy, ox, c]| {
        let mut seen = Vec::with_capacity(pool.window[0] * pool.window[1]);
        for ky in 0..pool.window[0] {
            let Some(y) = inside(oy * pool.stride[0], ky, pool.padding.top, x.shape.h) else { continue };
            for kx in 0..pool.window[1] {
                let Some(column) = inside(ox * pool.stride[1], kx, pool.padding.left, x.shape.w) else { continue };
                seen.push(x.at([b, y, column, c]));
            }
        }
        match pool.kind {
            PoolKind::Max => seen.iter().copied().reduce(f32::max).unwrap_or(0.0),
            PoolKind::Average => seen.iter().sum::<f32>() / seen.len().max(1) as f32,
        }
    })
}
