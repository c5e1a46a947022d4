//! Copies of elements at strides: reshape and rearrange.

use super::{
    Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common, shader::helpers::ONE_TEXEL,
    wgsl::shader_params,
};
use crate::{
    graph::{Rearrange, Shape, StridedAxis},
    ops::rearrange::Divided,
};

pub(crate) const SHADER: Shader =
    Shader::new("strided", texpool_shaders::STRIDED).params::<Params>().helpers(&[ONE_TEXEL]);

shader_params! {
    struct Params {
        inner: [usize; 4],
        inner_strides: [isize; 4],
        outer: [usize; 4],
        outer_strides: [isize; 4],
        outermost_stride: isize,
        offset: isize,
    }
}

/// Computes one texel per invocation, with four separate lane reads or one whole texel read.
pub(crate) fn dispatches(step: &StepContext<'_>, moved: &Rearrange) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step);
    let items = common::texels(step);
    let whole = moves_texels(moved, input.shape, step.output.shape);
    let one_pixel = !whole && reads_one_pixel(moved, input.shape.c, step.output.shape.c);
    let (params, axes) = params(moved);
    let params = KernelParams::new(step, &epilogue, items).input(input).params(&params);
    let constants =
        vec![("AXES", axes as f64), ("WHOLE_TEXELS", common::flag(whole)), ("ONE_PIXEL", common::flag(one_pixel))];
    Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, constants, &[]).reading(input)])
}

/// Returns whether each texel of the result is a copy of one input texel: a run of channels that starts where a texel
/// does.
fn moves_texels(moved: &Rearrange, from: Shape, to: Shape) -> bool {
    let Some((&StridedAxis { extent, stride: 1 }, outer)) = moved.axes.split_last() else { return false };
    let starts_at = |unit: usize| {
        moved.offset.is_multiple_of(unit) && outer.iter().all(|axis| axis.stride.unsigned_abs().is_multiple_of(unit))
    };
    let texels = [from.c, to.c, extent].iter().all(|channels| channels.is_multiple_of(4)) && starts_at(4);
    let pixels = from.c == to.c && extent.is_multiple_of(to.c) && starts_at(to.c);
    texels || pixels
}

/// Returns whether the channels of a pixel of the result come from one input pixel, as in a shuffle of channels.
fn reads_one_pixel(moved: &Rearrange, from: usize, to: usize) -> bool {
    let Some(Divided { within, around }) = moved.divided(to) else { return false };
    let first = (moved.offset % from) as isize;
    let fits = first + within.start >= 0 && first + within.end < from as isize;
    fits && around.iter().all(|stride| stride.unsigned_abs().is_multiple_of(from))
}

/// Returns the parameters of a copy, and a number of axes with which they are read. Copies of similar numbers of axes
/// share a pipeline.
fn params(moved: &Rearrange) -> (Params, usize) {
    let mut args = Params {
        inner: [1; 4],
        inner_strides: [0; 4],
        outer: [1; 4],
        outer_strides: [0; 4],
        outermost_stride: 0,
        offset: moved.offset as isize,
    };
    let Some((outermost, within)) = moved.axes.split_first() else { return (args, 1) };
    let axes = if within.is_empty() { 1 } else { moved.axes.len().next_multiple_of(2) };
    args.outermost_stride = outermost.stride;
    for (i, axis) in within.iter().rev().enumerate() {
        let (extents, strides) = match i / 4 {
            0 => (&mut args.inner, &mut args.inner_strides),
            _ => (&mut args.outer, &mut args.outer_strides),
        };
        (extents[i % 4], strides[i % 4]) = (axis.extent, axis.stride);
    }
    (args, axes)
}
