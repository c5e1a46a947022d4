//! Kernel of transposed 2-D convolutions.

use crate::{
    graph::{Graph, Node, TransposeConv},
    kernels::{
        ChannelWeights, Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightPieces, common,
        loops::loops,
        pack,
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

/// Packs weights by output slice, tap and input slice of the output slice's span, then biases. Each piece is one
/// output slice.
pub(crate) fn weights<'a>(graph: &'a Graph, node: &'a Node, conv: &TransposeConv) -> WeightPieces<'a> {
    let Some(constant) = &graph.tensors[node.inputs[1]].constant else { return pack::nothing() };
    let values = constant.reals();
    let geometry = ConvGeometry::new(graph, node, conv.groups, WeightLayout::Full);
    // An invocation computes one slice, so slices do not share a span.
    let span = geometry.groups.span(1);
    let (slices, channels) = (geometry.slices(), geometry.groups.out);
    let of_slice = move |slice| {
        let mut packed = Vec::with_capacity(geometry.weights.h * geometry.weights.w * span * 4);
        let start = geometry.start(slice, span);
        for ky in 0..geometry.weights.h {
            for kx in 0..geometry.weights.w {
                for k in start..start + span {
                    packed.extend(pack::matrix(|i, o| geometry.weight(&values, slice * 4 + o, ky, kx, k * 4 + i)));
                }
            }
        }
        packed
    };
    let biases = std::iter::once_with(move || pack::bias(graph, node, channels));
    Box::new((0..slices).map(of_slice).chain(biases))
}

/// Computes one texel per invocation.
pub(crate) fn dispatches(step: &StepContext<'_>, conv: &TransposeConv) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    common::constant(step, 1)?;
    if step.node.inputs.len() > 2 {
        common::constant(step, 2)?;
    }
    let geometry = ConvGeometry::new(step.graph, step.node, conv.groups, WeightLayout::Full);
    let [bias, alphas] = step.behind_weights(channel_weights(step.graph, step.node, conv).slice_texels);
    let epilogue = EpilogueParams::new(step.graph, step.node, alphas);
    let items = common::texels(step);
    let params = KernelParams::new(step, &epilogue, items).bias(bias).input(input).params(&Params {
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
