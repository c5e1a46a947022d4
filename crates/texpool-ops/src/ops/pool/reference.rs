//! CPU reference of pools.

use super::{IMAGE, Pool2d};
use crate::{
    graph::{Padding, PoolKind, ReduceKind, Shape, evaluate},
    ops::{
        reduce::reference::reduce,
        reference::{Operands, Reference, ReferenceError, View, each, inside},
    },
};

impl Reference for Pool2d {
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = operands.get(0)?;
        Ok(if self.is_mean_of(x.shape) { reduce(&x, ReduceKind::Mean, IMAGE, out) } else { pool(&x, self, out) })
    }
}

/// Computes the maximum, the mean or the norm of the window's pixels inside the image.
pub(crate) fn pool(x: &View<'_>, pool: &Pool2d, out: Shape) -> Vec<f32> {
    let Padding { top, left, .. } = pool.padding;
    each(out, |[b, oy, ox, c]| {
        let mut seen = Vec::with_capacity(pool.window[0] * pool.window[1]);
        let mut count = 0;
        for ky in 0..pool.window[0] {
            for kx in 0..pool.window[1] {
                let start = [oy * pool.stride[0], ox * pool.stride[1]];
                let tap = [ky * pool.dilation[0], kx * pool.dilation[1]];
                count += usize::from(counts(pool, x.shape, [start[0] + tap[0], start[1] + tap[1]]));
                let Some(y) = inside(start[0], tap[0], top, x.shape.h) else { continue };
                let Some(column) = inside(start[1], tap[1], left, x.shape.w) else { continue };
                seen.push(x.at([b, y, column, c]));
            }
        }
        match pool.kind {
            PoolKind::Max => seen.iter().copied().reduce(evaluate::greater).unwrap_or(0.0),
            PoolKind::Average => seen.iter().sum::<f32>() / count.max(1) as f32,
            // Sums without powers and roots have smaller rounding errors; the shader has the same special cases.
            PoolKind::Lp { p: 1 } => seen.iter().map(|v| v.abs()).sum(),
            PoolKind::Lp { p: 2 } => seen.iter().map(|v| v * v).sum::<f32>().sqrt(),
            PoolKind::Lp { p } => seen.iter().map(|v| v.abs().powi(p as i32)).sum::<f32>().powf(1.0 / p as f32),
        }
    })
}

/// Returns whether a pixel counts in a mean; its position is relative to the image with its whole border.
fn counts(pool: &Pool2d, image: Shape, [y, x]: [usize; 2]) -> bool {
    let border = pool.counted.unwrap_or_default();
    let within = |at: usize, padding: usize, before: usize, extent: usize, after: usize| {
        at + before >= padding && at + before < padding + before + extent + after
    };
    within(y, pool.padding.top, border.top, image.h, border.bottom)
        && within(x, pool.padding.left, border.left, image.w, border.right)
}
