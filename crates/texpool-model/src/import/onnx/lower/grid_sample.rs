//! Lowers GridSample, which reads an image at the places that a grid names.

use super::{
    align::placed_as,
    conv::{image, imaged},
    grid_taps::{self, Outside, Reading, reflected},
};
use crate::import::{
    error::Problem,
    onnx::{
        layout::AtomLayout,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::ChannelsSecond, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::Floats,
};
use texpool_ops::graph::{GridSample, Op, Shape};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[OnnxOpEntry::new(
    "GridSample",
    16,
    Floats,
    "binary, gather, grid_sample, reduce, unary",
    ChannelsSecond,
    grid_sample,
)
.limits("two dimensions, or three if linear or nearest")];

/// Samples an image, `[batch, channels, height, width]`, at the places of a grid, `[batch, rows, columns, 2]`. The grid
/// keeps the file's order: its last axis contains a column and a row.
pub(super) fn sampled(
    ctx: &mut NodeLowering<'_>,
    x: &Computed,
    grid: &Value,
    by: GridSample,
) -> Result<Computed, Problem> {
    let &[_, height, width, 2] = grid.dims() else {
        return Err(Problem::malformed(format!("a grid of {:?} for an image of {:?}", grid.dims(), x.dims)));
    };
    let image = image(ctx, x)?;
    let layout = AtomLayout::of(grid.dims(), &[vec![0], vec![1], vec![2], vec![3]]);
    let grid = placed_as(ctx.lowering, grid, &layout)?;
    let shape = Shape { h: height, w: width, ..image.shape };
    let tensor = ctx.emit(Op::GridSample(by), &[image.x.tensor, grid], shape)?;
    Ok(imaged(tensor, &image, shape))
}

fn grid_sample(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, mut grid) = (ctx.computed(0)?, ctx.operand(1)?);
    let reading = match ctx.text("mode", "linear")?.as_str() {
        "linear" | "bilinear" => Reading::Linear,
        "nearest" => Reading::Nearest,
        "cubic" | "bicubic" => Reading::Cubic,
        other => return Err(Problem::malformed(format!("its mode is {other}"))),
    };
    let outside = match ctx.text("padding_mode", "zeros")?.as_str() {
        "zeros" => Outside::Zeros,
        "border" => Outside::Border,
        "reflection" => Outside::Reflected,
        other => return Err(Problem::malformed(format!("its padding_mode is {other}"))),
    };
    let align_corners = ctx.flag("align_corners", false)?;
    let spatial = x.dims.len().saturating_sub(2);
    let result = match (spatial, reading) {
        (2, Reading::Linear | Reading::Nearest) => {
            if outside == Outside::Reflected {
                grid = Value::Computed(ctx.compute(&grid)?);
                grid = reflected(ctx, &grid)?;
            }
            let (linear, border) = (reading == Reading::Linear, outside != Outside::Zeros);
            Value::Computed(sampled(ctx, &x, &grid, GridSample { linear, border, align_corners })?)
        }
        (2, Reading::Cubic) | (3, Reading::Linear | Reading::Nearest) => {
            grid_taps::sampled(ctx, &x, &grid, align_corners, (reading, outside))?
        }
        _ => {
            let reason = format!("an input of {:?}: it reads images, or volumes without cubic functions", x.dims);
            return Err(Problem::unsupported(reason));
        }
    };
    ctx.give(0, result);
    Ok(())
}
