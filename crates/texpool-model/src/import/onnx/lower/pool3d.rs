//! Lowers pools of volumes: a pool within each plane, then one along the depth.

use super::{
    volumes::{computed, volume},
    windows::{Along, Auto, Window, sizes, slid, stated},
};
use crate::import::{
    common::planes::Planes,
    error::Problem,
    onnx::{node_lowering::NodeLowering, value::Computed},
};
use texpool_ops::graph::{Op, Padding, Pool2d, PoolKind, Shape};

/// Applies a pool whose window the node states.
pub(super) fn pooled(ctx: &mut NodeLowering<'_>, x: &Computed, kind: PoolKind) -> Result<Computed, Problem> {
    let axes = stated(ctx, &sizes(ctx, "kernel_shape", 3, 1)?)?;
    let &[depth, ref plane @ ..] = axes.as_slice() else {
        return Err(Problem::malformed("its window has no depth"));
    };
    let counted = kind == PoolKind::Average && ctx.flag("count_include_pad", false)?;
    let ceil = ctx.flag("ceil_mode", false)? && depth.auto == Auto::Stated;
    let pool = Pool { kind, counted, ceil };
    let planes = volume(ctx, x)?;
    let is_flat = plane.iter().all(Along::is_single);
    let within = if is_flat && !depth.is_single() { planes } else { pool.within(ctx, planes, &Window::of(plane)?)? };
    Ok(computed(pool.along(ctx, within, &depth)?, x.elem))
}

#[derive(Clone, Copy)]
struct Pool {
    kind: PoolKind,
    /// True if the stated border counts for an average.
    counted: bool,
    /// True if the last window may hang over the border.
    ceil: bool,
}

impl Pool {
    /// Pools each plane.
    fn within(self, ctx: &mut NodeLowering<'_>, planes: Planes, window: &Window) -> Result<Planes, Problem> {
        let image = [planes.plane.h, planes.plane.w];
        let border = window.around(image);
        let padding = if self.ceil { window.overhanging(border, image) } else { border };
        let [h, w] = slid(window, padding, image)?;
        let pool = Pool2d {
            kind: self.kind,
            window: window.extent,
            stride: window.stride,
            dilation: window.dilation,
            padding,
            counted: self.counted.then_some(border),
        };
        let result = Planes { plane: Shape { h, w, ..planes.plane }, ..planes };
        let tensor = ctx.emit(Op::Pool2d(pool), &[planes.tensor], result.shape(planes.depth))?;
        Ok(Planes { tensor, ..result })
    }

    /// Pools along the depth.
    fn along(self, ctx: &mut NodeLowering<'_>, planes: Planes, depth: &Along) -> Result<Planes, Problem> {
        let border = depth.around(planes.depth)?;
        let padding = if self.ceil { depth.overhanging(planes.depth, border)? } else { border };
        let count = depth.positions(planes.depth, padding)?;
        if depth.extent == 1 && padding == [0; 2] {
            return planes.taken(ctx, 0, depth.stride, count);
        }
        if depth.extent == depth.stride && depth.dilation == 1 && padding == [0; 2] {
            // Windows that touch are items.
            let planes = planes.taken(ctx, 0, 1, count * depth.stride)?;
            let windows = Planes { items: planes.items * count, depth: depth.stride, ..planes };
            let pooled = self.slid(ctx, windows, depth, [border, padding])?;
            return Ok(Planes { items: planes.items, depth: count, ..pooled });
        }
        let pooled = self.slid(ctx, planes, depth, [border, padding])?;
        pooled.taken(ctx, 0, depth.stride, count)
    }

    /// Pools along the depth in steps of one plane. The planes of an item are below one another, so that a step is as
    /// many rows as a plane has.
    fn slid(
        self,
        ctx: &mut NodeLowering<'_>,
        planes: Planes,
        depth: &Along,
        [border, padding]: [[usize; 2]; 2],
    ) -> Result<Planes, Problem> {
        let count = Along { stride: 1, ..*depth }.positions(planes.depth, padding)?;
        let rows = planes.plane.h;
        let around = |[front, back]: [usize; 2]| Padding { top: front * rows, bottom: back * rows, left: 0, right: 0 };
        let pool = Pool2d {
            kind: self.kind,
            window: [depth.extent, 1],
            stride: [1, 1],
            dilation: [depth.dilation * rows, 1],
            padding: around(padding),
            counted: self.counted.then_some(around(border)),
        };
        let below = ctx.lowering.reshape(planes.tensor, planes.stacked(planes.depth))?;
        let pooled = ctx.emit(Op::Pool2d(pool), &[below], planes.stacked(count))?;
        let tensor = ctx.lowering.reshape(pooled, planes.shape(count))?;
        Ok(Planes { tensor, depth: count, ..planes })
    }
}
