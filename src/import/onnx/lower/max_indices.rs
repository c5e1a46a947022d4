//! Where the greatest values of windows are: the places of a window as tensors behind one another, and the index of the
//! greatest made into one of the whole input.

use super::conv::Image;
use crate::{
    graph::{
        Binary, Concat, ElementType, Op, Pad, PadMode, Pool2d, Reduce, ReduceKind, Shape, StridedSlice, TensorId, Unary,
    },
    import::{
        error::Problem,
        onnx::{
            array::{Array, count},
            node_lowering::NodeLowering,
        },
    },
};

/// Most positions of a window, since each becomes a node of its own. Chosen: a window of 16 by 16.
const MAX_POSITIONS: usize = 256;

/// Integers up to here are held exactly.
const EXACT: usize = 1 << 24;

/// The indices, as floats of the result's `shape`. `columns` is whether those of a column follow each other.
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
        // The least finite number, so that the border is not where the greatest is.
        mode: PadMode::Constant(f32::MIN),
    });
    let padded = ctx.emit(pad, &[image.x.tensor], around)?;
    // The places of the window take B, so batches and rows share H.
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

    // An index is `row * width + column`, so `row * down + column * right` is the index times `right`, plus the row
    // times what `down` is more than `width * right`. The half keeps rounding from giving the row before.
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

/// A function of a tensor and a number.
fn scaled(ctx: &mut NodeLowering<'_>, binary: Binary, x: TensorId, number: f32) -> Result<TensorId, Problem> {
    let shape = ctx.lowering.graph.shape(x);
    let number = Array::of_floats(Vec::new(), ElementType::F32, &[number]);
    let number = ctx.lowering.constant(&number, Shape::new(1, 1, 1, 1))?;
    ctx.emit(Op::Binary(binary), &[x, number], shape)
}
