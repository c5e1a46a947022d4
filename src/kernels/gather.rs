//! Operators that move values and compute nothing: pad, strided slice, transpose, reshape, depth to space and back.

use super::{Dispatch, KernelError, Shader, StepContext, TailPlan, Words, family};

const SHADER: Shader = Shader { name: "gather", source: include_str!("../../shaders/gather.wgsl") };

/// Which element of the input makes an element of the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Map {
    /// Input axis `a` reads `first[a] + stride[a] * index of output axis axes[a]`; what lies outside is `value`.
    Axes {
        /// Output axis that each input axis follows.
        axes: [usize; 4],
        /// First index.
        first: [isize; 4],
        /// Distance between indices.
        stride: [isize; 4],
        /// What lies outside.
        value: f32,
    },
    /// The same place in dense order.
    Reshape,
    /// Channels to blocks of pixels with this edge.
    DepthToSpace(usize),
    /// Blocks of pixels with this edge to channels.
    SpaceToDepth(usize),
}

const IN_ORDER: [usize; 4] = [0, 1, 2, 3];

/// A pad.
pub(super) fn pad(before: [isize; 4], value: f32) -> Map {
    Map::Axes { axes: IN_ORDER, first: before.map(|v| -v), stride: [1; 4], value }
}

/// A strided slice.
pub(super) fn slice(begin: [usize; 4], stride: [isize; 4]) -> Map {
    Map::Axes { axes: IN_ORDER, first: begin.map(|v| v as isize), stride, value: 0.0 }
}

/// A transpose: output axis `i` is input axis `perm[i]`.
pub(super) fn transpose(perm: [usize; 4]) -> Map {
    let mut axes = IN_ORDER;
    for (output, &input) in perm.iter().enumerate() {
        axes[input] = output;
    }
    Map::Axes { axes, first: [0; 4], stride: [1; 4], value: 0.0 }
}

/// One texel an invocation: four lanes gathered one by one, or at once where they lie together.
pub(super) fn dispatches(step: &StepContext<'_>, map: Map) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = TailPlan::new(step.graph, step.node, 0);
    let items = family::texels(step);
    let (from, to) = (input.shape.c % 4, step.output.shape.c % 4);
    let (kind, whole, axes, first, stride, value, block) = match map {
        Map::Axes { axes, first, stride, value } => {
            let whole = axes[3] == 3 && stride[3] == 1 && first[3] % 4 == 0;
            (0u8, whole, axes, first, stride, value, 0)
        }
        Map::Reshape => (1, from == 0 && to == 0, IN_ORDER, [0; 4], [1; 4], 0.0, 0),
        Map::DepthToSpace(block) => (2, to == 0, IN_ORDER, [0; 4], [1; 4], 0.0, block),
        Map::SpaceToDepth(block) => (3, from == 0, IN_ORDER, [0; 4], [1; 4], 0.0, block),
    };
    // Signed words, two's complement.
    let signed = |values: [isize; 4]| values.map(|v| v as i32 as u32);
    let words = Words::new(step, &plan, items)
        .input(input)
        .own(axes.map(|axis| axis as u32))
        .own(signed(first))
        .own(signed(stride))
        .own([value.to_bits(), block as u32, 0, 0]);
    let constants = vec![("KIND", f64::from(kind)), ("WHOLE", f64::from(u8::from(whole)))];
    Ok(vec![family::dispatch(step, SHADER, &plan, words, items, constants).reading(input)])
}
