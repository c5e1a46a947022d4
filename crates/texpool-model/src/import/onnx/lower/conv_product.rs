//! Lowers convolutions whose weights a run computes. What windows read at each of their taps lies side by side, and is
//! multiplied by the weights.

use super::{
    basic::two,
    concat::joined,
    matmul::matrices,
    reduce::reduced_over,
    shapes::{reshaped, transposed},
    windows::{Window, slid},
};
use crate::import::{
    error::Problem,
    onnx::{
        layout::AtomLayout,
        node_lowering::NodeLowering,
        value::{Computed, Value},
    },
};
use texpool_ops::graph::{Binary, Op, Pad, PadMode, ReduceKind, Shape, StridedSlice, TensorId};

/// Maximum number of taps of a window, because each becomes a separate node. Chosen: a window of 32 by 32.
const MAX_TAPS: usize = 1024;

/// An image with its channels on C.
pub(super) struct Pixels {
    pub(super) tensor: TensorId,
    pub(super) shape: Shape,
}

/// Convolves an image with computed weights, whose extents are those of `[O, I / groups, y, x]` or `[O, I / groups, x]`.
/// The result is `[N, O, y, x]`.
pub(super) fn by_product(
    ctx: &mut NodeLowering<'_>,
    image: &Pixels,
    weights: Computed,
    slide: &Window,
    groups: usize,
) -> Result<Value, Problem> {
    let taps = slide.extent[0].saturating_mul(slide.extent[1]);
    if taps > MAX_TAPS {
        let [height, width] = slide.extent;
        let reason = format!("its weights are computed at run time, in windows of {height} by {width}");
        return Err(Problem::new(reason, "make them part of the model"));
    }
    let (outputs, inputs, elem) = (weights.dims[0], weights.dims[1], weights.elem);
    let (parts, [h, w]) = parts(ctx, image, &weights, slide)?;
    let batch = image.shape.b;
    let result = if inputs == 1 && outputs == groups {
        // A sum over taps, since a product for each channel would have a single column.
        let along_taps: Result<Vec<Value>, _> =
            parts.iter().map(|part| reshaped(ctx.lowering, part, &[batch, 1, outputs, h, w])).collect();
        let all = joined(ctx, &along_taps?, 1)?;
        let weights = reshaped(ctx.lowering, &Value::Computed(weights), &[outputs, taps])?;
        let weights = transposed(ctx.lowering, &weights, &[1, 0])?;
        let weights = reshaped(ctx.lowering, &weights, &[1, taps, outputs, 1, 1])?;
        let products = two(ctx, Binary::Mul, &all, &weights, elem)?;
        Value::Computed(reduced_over(ctx, &products, ReduceKind::Sum, &[1])?)
    } else {
        let all = joined(ctx, &parts, 1)?;
        // `[N, taps, groups, I, places]` to rows for each place.
        let all = reshaped(ctx.lowering, &all, &[batch, taps, groups, inputs, h * w])?;
        let rows = transposed(ctx.lowering, &all, &[0, 2, 4, 1, 3])?;
        let rows = reshaped(ctx.lowering, &rows, &[batch, groups, h * w, taps * inputs])?;
        let weights = Value::Computed(weights);
        let weights = reshaped(ctx.lowering, &weights, &[groups, outputs / groups, inputs, taps])?;
        let weights = transposed(ctx.lowering, &weights, &[0, 3, 2, 1])?;
        let weights = reshaped(ctx.lowering, &weights, &[groups, taps * inputs, outputs / groups])?;
        let product = Value::Computed(matrices(ctx, &rows, &weights)?);
        transposed(ctx.lowering, &product, &[0, 1, 3, 2])?
    };
    reshaped(ctx.lowering, &result, &[batch, outputs, h, w])
}

/// Returns what all windows read at each of their taps, `[N, I, y, x]`, and the number of windows down and across.
fn parts(
    ctx: &mut NodeLowering<'_>,
    image: &Pixels,
    weights: &Computed,
    slide: &Window,
) -> Result<(Vec<Value>, [usize; 2]), Problem> {
    let Shape { b, h, w, c } = image.shape;
    let border = slide.around([h, w]);
    let [down, across] = slid(slide, border, [h, w])?;
    let [before, after] = [[0, border.top, border.left, 0], [0, border.bottom, border.right, 0]];
    let mut tensor = image.tensor;
    if [before, after] != [[0; 4]; 2] {
        let mode = PadMode::Constant(0.0);
        let pad = Pad { before: before.map(|n| n as isize), after: after.map(|n| n as isize), mode };
        let around = Shape::new(b, h + border.top + border.bottom, w + border.left + border.right, c);
        tensor = ctx.emit(Op::Pad(pad), &[tensor], around)?;
    }
    let dims = vec![b, c, down, across];
    let layout = AtomLayout::channels_second(&dims).tidy(&dims);
    let stride = [1, slide.stride[0] as isize, slide.stride[1] as isize, 1];
    let [height, width] = slide.extent;
    let mut parts = Vec::with_capacity(height * width);
    for tap in 0..height * width {
        let begin = [0, tap / width * slide.dilation[0], tap % width * slide.dilation[1], 0];
        let slice = Op::StridedSlice(StridedSlice { begin, stride });
        let tensor = ctx.emit(slice, &[tensor], Shape::new(b, down, across, c))?;
        let (dims, layout) = (dims.clone(), layout.clone());
        parts.push(Value::Computed(Computed { tensor, dims, layout, elem: weights.elem }));
    }
    Ok((parts, [down, across]))
}
