//! Computes the indices of a max pool. Concatenates the positions of the window along the batch axis, takes the index
//! of the maximum there, and converts it to an index into the whole input.

use super::conv::Image;
use crate::import::{
    error::Problem,
    onnx::{
        array::{Array, count},
        node_lowering::NodeLowering,
    },
};
use texpool_ops::graph::{
    Binary, Concat, ElementType, Op, Pad, PadMode, Pool2d, Reduce, ReduceKind, Shape, StridedSlice, TensorId, Unary,
};

/// Maximum number of positions in a window, because each becomes a separate node. Chosen: a window of 16 by 16.
const MAX_POSITIONS: usize = 256;

/// Largest integer up to which floats are exact.
const EXACT: usize = 1 << 24;

/// Returns the indices as floats in a tensor of `shape`. `columns` selects column-major indices.
pub(super) fn max_indices(
    ctx: &mut NodeLowering<'_>,
    image: &Image,
    pool: &Pool2d,
    shape: Shape,
    columns: bool,
) -> Result<TensorId, Problem> {
    let [height, width] = pool.window;
    if height.saturating_mul(width) > MAX_POSITIONS {
        return Err(Problem::unsupported(format!("its second result, the indices in windows of {height} by {width}")));
    }
    let Shape { b, h, w, c } = image.shape;
    if image.shape.len() > EXACT {
        return Err(Problem::unsupported("its second result, indices beyond 2^24"));
    }
    let border = pool.padding;
    let [before, after] = [[0, border.top, border.left, 0], [0, border.bottom, border.right, 0]];
    let around = Shape::new(b, h + border.top + border.bottom, w + border.left + border.right, c);
    let pad = Op::Pad(Pad {
        before: before.map(|n| n as isize),
        after: after.map(|n| n as isize),
        // The lowest finite number, so that the maximum is never in the border.
        mode: PadMode::Constant(f32::MIN),
    });
    let padded = ctx.emit(pad, &[image.x.tensor], around)?;
    // The window's positions occupy B, so batches and rows share H.
    let flat = Shape::new(1, shape.b * shape.h, shape.w, shape.c);
    let mut parts = Vec::with_capacity(height * width);
    for place in 0..height * width {
        let begin = [0, place / width * pool.dilation[0], place % width * pool.dilation[1], 0];
        let stride = [1, pool.stride[0] as isize, pool.stride[1] as isize, 1];
        let part = ctx.emit(Op::StridedSlice(StridedSlice { begin, stride }), &[padded], shape)?;
        parts.push(ctx.lowering.reshape(part, flat)?);
    }
    let all = match parts.as_slice() {
        &[one] => one,
        _ => ctx.emit(Op::Concat(Concat { axis: 0 }), &parts, Shape { b: parts.len(), ..flat })?,
    };
    let greatest = Op::Reduce(Reduce { kind: ReduceKind::ArgMax { last: false }, axes: [true, false, false, false] });
    let index = ctx.emit(greatest, &[all], flat)?;
    let index = ctx.lowering.reshape(index, shape)?;

    // An index is `row * width + column`. Hence `row * down + column * right` equals the index times `right`, plus
    // the row times `down - width * right`. Adding one half prevents rounding from yielding the row before.
    let by = if columns { [1, h] } else { [w, 1] };
    let [down, right] = [by[0] * pool.dilation[0], by[1] * pool.dilation[1]];
    let raised = scaled(ctx, Binary::Add, index, 0.5)?;
    let share = scaled(ctx, Binary::Mul, raised, 1.0 / width as f32)?;
    let row = ctx.emit(Op::Unary(Unary::Floor), &[share], shape)?;
    let rows = scaled(ctx, Binary::Mul, row, down as f32 - (width * right) as f32)?;
    let steps = scaled(ctx, Binary::Mul, index, right as f32)?;
    let distance = ctx.emit(Op::Binary(Binary::Add), &[rows, steps], shape)?;
    let mut first = ctx.meter().list(count(&shape.dims())?)?;
    for i in 0..shape.len() {
        let (pixel, channel) = (i / shape.c, i % shape.c);
        let (line, x) = (pixel / shape.w, pixel % shape.w);
        let (batch, y) = (line / shape.h, line % shape.h);
        let plane = ((batch * c + channel) * h * w) as i64;
        let y = (y * pool.stride[0]) as i64 - border.top as i64;
        let x = (x * pool.stride[1]) as i64 - border.left as i64;
        first.push((plane + y * by[0] as i64 + x * by[1] as i64) as f32);
    }
    let first = Array::of_floats(shape.dims().to_vec(), ElementType::F32, &first);
    let first = ctx.lowering.constant(&first, shape)?;
    ctx.emit(Op::Binary(Binary::Add), &[distance, first], shape)
}

/// Adds a binary function of a tensor and a number.
fn scaled(ctx: &mut NodeLowering<'_>, binary: Binary, x: TensorId, number: f32) -> Result<TensorId, Problem> {
    let shape = ctx.lowering.graph.shape(x);
    let number = Array::of_floats(Vec::new(), ElementType::F32, &[number]);
    let number = ctx.lowering.constant(&number, Shape::new(1, 1, 1, 1))?;
    ctx.emit(Op::Binary(binary), &[x, number], shape)
}
