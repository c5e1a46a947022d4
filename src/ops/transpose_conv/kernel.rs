//! Kernel of transposed 2-D convolutions.

use crate::{
    graph::{Graph, Node, TransposeConv},
    kernels::{
        ChannelWeights, Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightSection,
        common,
        loops::loops,
        shader::helpers::{ONE_TEXEL, WEIGHTS},
        wgsl::shader_params,
    },
    ops::conv::kernel::{ConvGeometry, WeightLayout},
};

pub(crate) const SHADER: Shader = Shader::new("transpose_conv", include_str!("../../../shaders/transpose_conv.wgsl"))
    .params::<Params>()
    .helpers(&[ONE_TEXEL, WEIGHTS])
    .loops(loops![ky[kx[k]]])
    .any_packing();

shader_params! {
    struct Params {
        window: [usize; 2],
        stride: [usize; 2],
        cut: [usize; 2],
        span: usize,
        dilation: [usize; 2],
        out_group: usize,
        in_group: usize,
    }
}

/// Returns the layout of the weights per channel of the result.
pub(crate) fn channel_weights(graph: &Graph, node: &Node, conv: &TransposeConv) -> ChannelWeights {
    let geometry = ConvGeometry::new(graph, node, conv.groups, WeightLayout::Full);
    // An invocation computes one slice, so slices do not share a span.
    let slice_texels = geometry.weights.h * geometry.weights.w * geometry.groups.span(1) * 4;
    ChannelWeights { axis: 0, slice_texels }
}

/// Returns the weights by output slice, tap and input slice of the output slice's span, and the biases.
pub(crate) fn weights(graph: &Graph, node: &Node, conv: &TransposeConv) -> Vec<WeightSection> {
    let geometry = ConvGeometry::new(graph, node, conv.groups, WeightLayout::Full);
    // An invocation computes one slice, so slices do not share a span.
    geometry.sections(graph, node, 1)
}

/// Computes one texel per invocation.
pub(crate) fn dispatches(step: &StepContext<'_>, conv: &TransposeConv) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    common::constant(step, 1)?;
    if step.node.inputs.len() > 2 {
        common::constant(step, 2)?;
    }
    let geometry = ConvGeometry::new(step.graph, step.node, conv.groups, WeightLayout::Full);
    let epilogue = EpilogueParams::new(step);
    let items = common::texels(step);
    let params = KernelParams::new(step, &epilogue, items).biases(step).input(input).params(&Params {
        window: [geometry.weights.h, geometry.weights.w],
        stride: conv.stride,
        cut: [conv.padding.top, conv.padding.left],
        span: geometry.groups.span(1),
        dilation: conv.dilation,
        out_group: geometry.groups.out_group,
        in_group: geometry.groups.in_group,
    });
    let extents = [("ky", geometry.weights.h), ("kx", geometry.weights.w), ("k", geometry.groups.span(1))];
    let shader = SHADER.reading(step.weights.packing);
    let dispatch = common::dispatch(step, shader, &epilogue, params, items, Vec::new(), &extents);
    Ok(vec![dispatch.reading(input).reading_weights(step)])
}
