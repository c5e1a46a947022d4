//! Operators that only move values: pad, tile, strided slice, transpose, reshape, depth to space, space to depth and
//! rearrange.

use super::{
    Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
    shader::helpers::ONE_TEXEL,
    wgsl::{shader_params, shared_constants},
};
use crate::{
    graph::{DepthOrder, PadMode, Rearrange, Shape, StridedAxis},
    ops::rearrange::Divided,
};

pub(crate) const SHADER: Shader = Shader::new("rearrange", texpool_shaders::REARRANGE)
    .constants(&[MAPS, PADS])
    .params::<Params>()
    .helpers(&[ONE_TEXEL]);

shared_constants! {
    /// Codes of [`Map`].
    MAPS:
    MAP_AXES = 0,
    MAP_STRIDED = 1,
    MAP_DEPTH_TO_SPACE_DCR = 2,
    MAP_SPACE_TO_DEPTH = 3,
    MAP_DEPTH_TO_SPACE_CRD = 4,
}

shared_constants! {
    /// Codes of [`PadMode`], which defines the values outside the input.
    PADS:
    PAD_CONSTANT = 0,
    PAD_REFLECT = 1,
    PAD_SYMMETRIC = 2,
    PAD_EDGE = 3,
    PAD_WRAP = 4,
}

shader_params! {
    struct Params {
        axes: [usize; 4],
        first: [isize; 4],
        stride: [isize; 4],
        fixed_value: f32,
        block: [usize; 2],
        cut: [isize; 4],
        kept: [isize; 4],
        inner: [usize; 4],
        inner_strides: [isize; 4],
        outer: [usize; 4],
        outer_strides: [isize; 4],
        offset: isize,
        outermost_stride: isize,
    }
}

impl Params {
    /// Parameters of a map without attributes.
    const NONE: Self = Self {
        axes: IN_ORDER,
        first: [0; 4],
        stride: [1; 4],
        fixed_value: 0.0,
        block: [0; 2],
        cut: [0; 4],
        kept: [0; 4],
        inner: [1; 4],
        inner_strides: [0; 4],
        outer: [1; 4],
        outer_strides: [0; 4],
        offset: 0,
        outermost_stride: 0,
    };
}

/// Maps each element of the result to an element of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Map<'a> {
    /// Input axis `a` reads `first[a] + stride[a] * index of output axis axes[a]`.
    Axes {
        /// Output axis that each input axis follows.
        axes: [usize; 4],
        /// First index.
        first: [isize; 4],
        /// Distance between indices.
        stride: [isize; 4],
        /// Values outside the input.
        outside: PadMode,
        /// Number of elements to cut off at both ends of each axis; they count as outside.
        cut: [[isize; 4]; 2],
    },
    /// Elements at strides of dense order.
    Strided(&'a Rearrange),
    /// Moves channels to blocks of `[rows, columns]` pixels.
    DepthToSpace([usize; 2], DepthOrder),
    /// Moves blocks of `[rows, columns]` pixels to channels.
    SpaceToDepth([usize; 2]),
}

const IN_ORDER: [usize; 4] = [0, 1, 2, 3];
const NOTHING: PadMode = PadMode::Constant(0.0);

/// Returns the map of a pad.
pub(crate) fn pad(before: [isize; 4], after: [isize; 4], outside: PadMode) -> Map<'static> {
    let cut = [before, after].map(|amounts| amounts.map(|n| (-n).max(0)));
    // The result starts this far before the input, or inside it if elements are cut off.
    Map::Axes { axes: IN_ORDER, first: before.map(|n| -n), stride: [1; 4], outside, cut }
}

/// Returns the map of a tile, which repeats the input.
pub(crate) fn tile() -> Map<'static> {
    pad([0; 4], [0; 4], PadMode::Wrap)
}

/// Returns the map of a strided slice.
pub(crate) fn slice(begin: [usize; 4], stride: [isize; 4]) -> Map<'static> {
    let first = begin.map(|v| v as isize);
    Map::Axes { axes: IN_ORDER, first, stride, outside: NOTHING, cut: [[0; 4]; 2] }
}

/// Returns the map of a transpose: output axis `i` is input axis `perm[i]`.
pub(crate) fn transpose(perm: [usize; 4]) -> Map<'static> {
    let mut axes = IN_ORDER;
    for (output, &input) in perm.iter().enumerate() {
        axes[input] = output;
    }
    Map::Axes { axes, first: [0; 4], stride: [1; 4], outside: NOTHING, cut: [[0; 4]; 2] }
}

/// Returns the code of a mode in `rearrange.wgsl`.
const fn code(mode: PadMode) -> u32 {
    match mode {
        PadMode::Constant(_) => PAD_CONSTANT,
        PadMode::Reflect => PAD_REFLECT,
        PadMode::Symmetric => PAD_SYMMETRIC,
        PadMode::Edge => PAD_EDGE,
        PadMode::Wrap => PAD_WRAP,
    }
}

impl Map<'_> {
    /// Returns whether each texel of the result is a copy of one whole input texel.
    fn moves_texels(&self, from: Shape, to: Shape) -> bool {
        match *self {
            Self::Axes { axes: [.., 3], first: [.., first], stride: [.., 1], outside, .. } => match outside {
                // The shader already writes the constant to every lane past the operand's channels.
                PadMode::Constant(_) => first % 4 == 0,
                PadMode::Wrap if from.c.is_multiple_of(4) => first % 4 == 0,
                // Mirrored lanes are in a different order, and repeated lanes are in different texels.
                _ => first == 0 && from.c == to.c,
            },
            Self::Axes { .. } => false,
            Self::Strided(moved) => moves_texels(moved, from, to),
            Self::DepthToSpace(_, DepthOrder::Dcr) => to.c.is_multiple_of(4),
            Self::DepthToSpace(block, DepthOrder::Crd) => block == [1; 2],
            Self::SpaceToDepth(_) => from.c.is_multiple_of(4),
        }
    }
}

/// Returns whether each texel of the result is a copy of one input texel: a run of channels that starts where a texel does.
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

/// Computes one texel per invocation, with four separate lane reads or one whole texel read.
pub(crate) fn dispatches(step: &StepContext<'_>, map: Map<'_>) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step);
    let items = common::texels(step);
    let whole = map.moves_texels(input.shape, step.output.shape);
    let (mut args, mut beyond) = (Params::NONE, NOTHING);
    let (mut axes, mut one_pixel) = (1, false);
    let kind = match map {
        Map::Axes { axes, first, stride, outside, cut } => {
            let extents = input.shape.dims();
            // Borders are mirrored at the edges after cutting, not at the operand's original edges.
            let kept = std::array::from_fn(|axis| extents[axis] as isize - cut[0][axis] - cut[1][axis]);
            args = Params { axes, first, stride, cut: cut[0], kept, ..args };
            beyond = outside;
            MAP_AXES
        }
        Map::Strided(moved) => {
            (args, axes) = strided(moved);
            one_pixel = !whole && reads_one_pixel(moved, input.shape.c, step.output.shape.c);
            MAP_STRIDED
        }
        Map::DepthToSpace(block, order) => {
            args.block = block;
            if order == DepthOrder::Dcr { MAP_DEPTH_TO_SPACE_DCR } else { MAP_DEPTH_TO_SPACE_CRD }
        }
        Map::SpaceToDepth(block) => {
            args.block = block;
            MAP_SPACE_TO_DEPTH
        }
    };
    if let PadMode::Constant(value) = beyond {
        args.fixed_value = value;
    }
    let params = KernelParams::new(step, &epilogue, items).input(input).params(&args);
    let constants = vec![
        ("MAP", f64::from(kind)),
        ("WHOLE_TEXELS", common::flag(whole)),
        ("OUTSIDE", f64::from(code(beyond))),
        ("STRIDED_AXES", axes as f64),
        ("ONE_PIXEL", common::flag(one_pixel)),
    ];
    Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, constants, &[]).reading(input)])
}

/// Returns the parameters of a copy, and a number of axes with which they are read. Copies of similar numbers of axes share
/// a pipeline.
fn strided(moved: &Rearrange) -> (Params, usize) {
    let mut args = Params { offset: moved.offset as isize, ..Params::NONE };
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
