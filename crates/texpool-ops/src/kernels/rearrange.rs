//! Operators that only move values along axes and between pixels and channels: pad, tile, strided slice, transpose, depth
//! to space and space to depth.

use super::{
    Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
    shader::helpers::ONE_TEXEL,
    wgsl::{shader_params, shared_constants},
};
use crate::graph::{DepthOrder, PadMode, Shape};

pub(crate) const SHADER: Shader = Shader::new("rearrange", texpool_shaders::REARRANGE)
    .constants(&[MAPS, PADS])
    .params::<Params>()
    .helpers(&[ONE_TEXEL]);

shared_constants! {
    /// Codes of [`Map`].
    MAPS:
    MAP_AXES = 0,
    MAP_DEPTH_TO_SPACE_DCR = 1,
    MAP_SPACE_TO_DEPTH = 2,
    MAP_DEPTH_TO_SPACE_CRD = 3,
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
    };
}

/// Maps each element of the result to an element of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Map {
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
    /// Moves channels to blocks of `[rows, columns]` pixels.
    DepthToSpace([usize; 2], DepthOrder),
    /// Moves blocks of `[rows, columns]` pixels to channels.
    SpaceToDepth([usize; 2]),
}

const IN_ORDER: [usize; 4] = [0, 1, 2, 3];
const NOTHING: PadMode = PadMode::Constant(0.0);

/// Returns the map of a pad.
pub(crate) fn pad(before: [isize; 4], after: [isize; 4], outside: PadMode) -> Map {
    let cut = [before, after].map(|amounts| amounts.map(|n| (-n).max(0)));
    // The result starts this far before the input, or inside it if elements are cut off.
    Map::Axes { axes: IN_ORDER, first: before.map(|n| -n), stride: [1; 4], outside, cut }
}

/// Returns the map of a tile, which repeats the input.
pub(crate) fn tile() -> Map {
    pad([0; 4], [0; 4], PadMode::Wrap)
}

/// Returns the map of a strided slice.
pub(crate) fn slice(begin: [usize; 4], stride: [isize; 4]) -> Map {
    let first = begin.map(|v| v as isize);
    Map::Axes { axes: IN_ORDER, first, stride, outside: NOTHING, cut: [[0; 4]; 2] }
}

/// Returns the map of a transpose: output axis `i` is input axis `perm[i]`.
pub(crate) fn transpose(perm: [usize; 4]) -> Map {
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

impl Map {
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
            Self::DepthToSpace(_, DepthOrder::Dcr) => to.c.is_multiple_of(4),
            Self::DepthToSpace(block, DepthOrder::Crd) => block == [1; 2],
            Self::SpaceToDepth(_) => from.c.is_multiple_of(4),
        }
    }
}

/// Computes one texel per invocation, with four separate lane reads or one whole texel read.
pub(crate) fn dispatches(step: &StepContext<'_>, map: Map) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step);
    let items = common::texels(step);
    let whole = map.moves_texels(input.shape, step.output.shape);
    let (mut args, mut beyond) = (Params::NONE, NOTHING);
    let kind = match map {
        Map::Axes { axes, first, stride, outside, cut } => {
            let extents = input.shape.dims();
            // Borders are mirrored at the edges after cutting, not at the operand's original edges.
            let kept = std::array::from_fn(|axis| extents[axis] as isize - cut[0][axis] - cut[1][axis]);
            args = Params { axes, first, stride, cut: cut[0], kept, ..args };
            beyond = outside;
            MAP_AXES
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
    let constants =
        vec![("MAP", f64::from(kind)), ("WHOLE_TEXELS", common::flag(whole)), ("OUTSIDE", f64::from(code(beyond)))];
    Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, constants, &[]).reading(input)])
}
