//! Operators that move values and compute nothing: pad, tile, strided slice, transpose, reshape, depth to space and
//! back.

use super::{
    Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
    shader::helpers::ONE_TEXEL,
    wgsl::{shader_params, shared_constants},
};
use crate::graph::{DepthOrder, PadMode, Shape};

pub(crate) const SHADER: Shader = Shader::new("rearrange", include_str!("../../shaders/rearrange.wgsl"))
    .constants(&[MAPS, PADS])
    .params::<Params>()
    .helpers(&[ONE_TEXEL]);

shared_constants! {
    /// Codes of [`Map`].
    MAPS:
    MAP_AXES = 0,
    MAP_RESHAPE = 1,
    MAP_DEPTH_TO_SPACE_DCR = 2,
    MAP_SPACE_TO_DEPTH = 3,
    MAP_DEPTH_TO_SPACE_CRD = 4,
}

shared_constants! {
    /// What lies outside of the input.
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
        block: usize,
        cut: [isize; 4],
        kept: [isize; 4],
    }
}

/// Which element of the input makes an element of the result.
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
        /// What lies outside.
        outside: PadMode,
        /// Elements at both ends of each axis that lie outside, too.
        cut: [[isize; 4]; 2],
    },
    /// The same place in dense order.
    Reshape,
    /// Channels to blocks of pixels with this edge.
    DepthToSpace(usize, DepthOrder),
    /// Blocks of pixels with this edge to channels.
    SpaceToDepth(usize),
}

const IN_ORDER: [usize; 4] = [0, 1, 2, 3];
const NOTHING: PadMode = PadMode::Constant(0.0);

/// A pad.
pub(crate) fn pad(before: [isize; 4], after: [isize; 4], outside: PadMode) -> Map {
    let cut = [before, after].map(|amounts| amounts.map(|n| (-n).max(0)));
    // The result begins that far in front of the input, or inside it where elements are cut off.
    Map::Axes { axes: IN_ORDER, first: before.map(|n| -n), stride: [1; 4], outside, cut }
}

/// A tile: the input again and again.
pub(crate) fn tile() -> Map {
    pad([0; 4], [0; 4], PadMode::Wrap)
}

/// A strided slice.
pub(crate) fn slice(begin: [usize; 4], stride: [isize; 4]) -> Map {
    let first = begin.map(|v| v as isize);
    Map::Axes { axes: IN_ORDER, first, stride, outside: NOTHING, cut: [[0; 4]; 2] }
}

/// A transpose: output axis `i` is input axis `perm[i]`.
pub(crate) fn transpose(perm: [usize; 4]) -> Map {
    let mut axes = IN_ORDER;
    for (output, &input) in perm.iter().enumerate() {
        axes[input] = output;
    }
    Map::Axes { axes, first: [0; 4], stride: [1; 4], outside: NOTHING, cut: [[0; 4]; 2] }
}

/// The code of a mode in `rearrange.wgsl`.
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
    /// Whether the four lanes of a texel of the result are the four lanes of a texel of the input.
    fn moves_texels(&self, from: Shape, to: Shape) -> bool {
        match *self {
            Self::Axes { axes: [.., 3], first: [.., first], stride: [.., 1], outside, .. } => match outside {
                // The shader puts the constant into each lane past the operand's channels by itself.
                PadMode::Constant(_) => first % 4 == 0,
                PadMode::Wrap if from.c.is_multiple_of(4) => first % 4 == 0,
                // Mirrored lanes stand in another order, and repeated ones in other texels.
                _ => first == 0 && from.c == to.c,
            },
            Self::Axes { .. } => false,
            Self::Reshape => from.c.is_multiple_of(4) && to.c.is_multiple_of(4),
            Self::DepthToSpace(_, DepthOrder::Dcr) => to.c.is_multiple_of(4),
            Self::DepthToSpace(block, DepthOrder::Crd) => block == 1,
            Self::SpaceToDepth(_) => from.c.is_multiple_of(4),
        }
    }
}

/// One texel an invocation: four lanes gathered one by one, or at once where they lie together.
pub(crate) fn dispatches(step: &StepContext<'_>, map: Map) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step.graph, step.node, 0);
    let items = common::texels(step);
    let whole = map.moves_texels(input.shape, step.output.shape);
    let none = ([0; 4], [1; 4], NOTHING, [[0; 4]; 2]);
    let (kind, axes, (first, stride, outside, cut), block) = match map {
        Map::Axes { axes, first, stride, outside, cut } => (MAP_AXES, axes, (first, stride, outside, cut), 0),
        Map::Reshape => (MAP_RESHAPE, IN_ORDER, none, 0),
        Map::DepthToSpace(block, DepthOrder::Dcr) => (MAP_DEPTH_TO_SPACE_DCR, IN_ORDER, none, block),
        Map::SpaceToDepth(block) => (MAP_SPACE_TO_DEPTH, IN_ORDER, none, block),
        Map::DepthToSpace(block, DepthOrder::Crd) => (MAP_DEPTH_TO_SPACE_CRD, IN_ORDER, none, block),
    };
    let fixed_value = if let PadMode::Constant(value) = outside { value } else { 0.0 };
    let extents = input.shape.dims();
    // Borders are mirrored at what is left after cutting, not at the operand's own edges.
    let kept = std::array::from_fn(|axis| extents[axis] as isize - cut[0][axis] - cut[1][axis]);
    let params = Params { axes, first, stride, fixed_value, block, cut: cut[0], kept };
    let params = KernelParams::new(step, &epilogue, items).input(input).params(&params);
    let constants =
        vec![("MAP", f64::from(kind)), ("WHOLE_TEXELS", common::flag(whole)), ("OUTSIDE", f64::from(code(outside)))];
    Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, constants, &[]).reading(input)])
}
