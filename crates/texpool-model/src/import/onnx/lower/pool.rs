//! Lowers pools, including global ones.

use super::{
    conv::{answer_image, image, imaged},
    max_indices::max_indices,
    pool3d::pooled,
    volumes::{computed, volume},
    windows::{Auto, slid, spatial, stated_window},
};
use crate::import::{
    common::planes::Planes,
    error::Problem,
    onnx::{
        node_lowering::NodeLowering,
        op_registry::{InputLayout::ChannelsSecond, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::Floats,
};
use texpool_ops::graph::{ElementType, Op, Padding, Pool2d, PoolKind, ReduceKind, Shape};

const LIMITS: &str = "one to three dimensions";

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("MaxPool", 1, Floats, "pool", ChannelsSecond, |c| pool(c, PoolKind::Max))
        .limits("one to three dimensions; indices of one or two"),
    OnnxOpEntry::new("AveragePool", 1, Floats, "pool", ChannelsSecond, |c| pool(c, PoolKind::Average)).limits(LIMITS),
    OnnxOpEntry::new("LpPool", 1, Floats, "pool", ChannelsSecond, |c| {
        let p = power(c)?;
        pool(c, PoolKind::Lp { p })
    })
    .limits(LIMITS),
    OnnxOpEntry::new("GlobalAveragePool", 1, Floats, "mean", ChannelsSecond, |c| global(c, ReduceKind::Mean)),
    OnnxOpEntry::new("GlobalMaxPool", 1, Floats, "reduce", ChannelsSecond, |c| global(c, ReduceKind::Max)),
    OnnxOpEntry::new("GlobalLpPool", 1, Floats, "pool", ChannelsSecond, global_lp),
];

fn power(ctx: &NodeLowering<'_>) -> Result<u32, Problem> {
    let p = ctx.int("p")?.unwrap_or(2);
    u32::try_from(p).ok().filter(|&p| p > 0).ok_or_else(|| Problem::malformed(format!("its p is {p}")))
}

pub(super) fn pool(ctx: &mut NodeLowering<'_>, kind: PoolKind) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    if !ctx.has("kernel_shape") {
        return Err(Problem::malformed("it states no window"));
    }
    if x.dims.len() == 5 {
        if ctx.wants(1) {
            return Err(Problem::unsupported("its second result, the indices of three dimensions"));
        }
        let result = pooled(ctx, &x, kind)?;
        ctx.give(0, Value::Computed(result));
        return Ok(());
    }
    let image = image(ctx, &x)?;
    let dimensions = x.dims.len() - 2;
    let extent = spatial(ctx, "kernel_shape", dimensions, 1)?;
    let window = stated_window(ctx, dimensions, extent)?;
    let counted = kind == PoolKind::Average && ctx.flag("count_include_pad", false)?;
    let ceil = ctx.flag("ceil_mode", false)? && window.auto == Auto::Stated;
    let size = [image.shape.h, image.shape.w];
    let border = window.around(size);
    let padding = if ceil { window.overhanging(border, size) } else { border };
    let [h, w] = slid(&window, padding, size)?;
    let pool = Pool2d {
        kind,
        window: window.extent,
        stride: window.stride,
        dilation: window.dilation,
        padding,
        // Counts the stated border only. The part of the last window that hangs over the border never counts.
        counted: counted.then_some(border),
    };
    let shape = Shape { h, w, ..image.shape };
    let tensor = ctx.emit(Op::Pool2d(pool), &[image.x.tensor], shape)?;
    if ctx.wants(1) {
        let columns = ctx.flag("storage_order", false)?;
        let indices = max_indices(ctx, &image, &pool, shape, columns)?;
        let indices = Computed { elem: ElementType::I64, ..imaged(indices, &image, shape) };
        ctx.give(1, Value::Computed(indices));
    }
    answer_image(ctx, tensor, &image, shape);
    Ok(())
}

pub(super) fn global(ctx: &mut NodeLowering<'_>, kind: ReduceKind) -> Result<(), Problem> {
    super::reduce::over_image(ctx, kind)
}

fn global_lp(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let p = power(ctx)?;
    let x = ctx.computed(0)?;
    let lp = |[h, w]: [usize; 2]| Pool2d::plain(PoolKind::Lp { p }, [h, w], [1, 1], Padding::default());
    if x.dims.len() == 5 {
        let planes = volume(ctx, &x)?;
        let below = planes.stacked(planes.depth);
        let tensor = ctx.lowering.reshape(planes.tensor, below)?;
        let plane = Shape { h: 1, w: 1, ..planes.plane };
        let tensor = ctx.emit(Op::Pool2d(lp([below.h, below.w])), &[tensor], Shape { b: below.b, ..plane })?;
        ctx.give(0, Value::Computed(computed(Planes { tensor, depth: 1, plane, ..planes }, x.elem)));
        return Ok(());
    }
    let image = image(ctx, &x)?;
    let shape = Shape { h: 1, w: 1, ..image.shape };
    let tensor = ctx.emit(Op::Pool2d(lp([image.shape.h, image.shape.w])), &[image.x.tensor], shape)?;
    answer_image(ctx, tensor, &image, shape);
    Ok(())
}
