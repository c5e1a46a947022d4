//! Transposed 2-D convolutions.

use crate::{
    graph::{Graph, Node, TransposeConv},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, family, pack,
        shader::helpers::{ONE_TEXEL, WEIGHTS},
        wgsl::shader_params,
    },
    ops::conv::kernel::{Form, Kind},
};

pub(crate) const SHADER: Shader = Shader::new("transpose_conv", include_str!("../../../shaders/transpose_conv.wgsl"))
    .params::<Params>()
    .helpers(&[ONE_TEXEL, WEIGHTS]);

shader_params! {
    struct Params {
        window: [usize; 2],
        stride: [usize; 2],
        cut: [usize; 2],
        bias: usize,
        span: usize,
        dilation: [usize; 2],
        out_group: usize,
        in_group: usize,
    }
}

/// Texels of the weights, without the biases.
fn texels(form: &Form) -> usize {
    form.slices() * form.weights.h * form.weights.w * form.groups.span(1) * 4
}

/// Weights by output slice, tap and input slice of the output slice's span, then biases.
pub(crate) fn weights(graph: &Graph, node: &Node, conv: &TransposeConv) -> Vec<[f32; 4]> {
    let Some(constant) = &graph.tensors[node.inputs[1]].constant else { return Vec::new() };
    let values = constant.to_f32();
    let form = Form::new(graph, node, conv.groups, Kind::Full);
    let span = form.groups.span(1);
    let mut packed = Vec::with_capacity(texels(&form));
    for slice in 0..form.slices() {
        let start = form.start(slice, span);
        for ky in 0..form.weights.h {
            for kx in 0..form.weights.w {
                for k in start..start + span {
                    packed.extend(pack::matrix(|i, o| form.weight(&values, slice * 4 + o, ky, kx, k * 4 + i)));
                }
            }
        }
    }
    packed.extend(pack::bias(graph, node, form.groups.out));
    packed
}

/// One texel an invocation.
pub(crate) fn dispatches(step: &StepContext<'_>, conv: &TransposeConv) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    family::constant(step, 1)?;
    if step.node.inputs.len() > 2 {
        family::constant(step, 2)?;
    }
    let form = Form::new(step.graph, step.node, conv.groups, Kind::Full);
    let bias = texels(&form);
    let epilogue = EpilogueParams::new(step.graph, step.node, bias + form.slices());
    let items = family::texels(step);
    let params = KernelParams::new(step, &epilogue, items).input(input).family(&Params {
        window: [form.weights.h, form.weights.w],
        stride: conv.stride,
        cut: [conv.padding.top, conv.padding.left],
        bias,
        span: form.groups.span(1),
        dilation: conv.dilation,
        out_group: form.groups.out_group,
        in_group: form.groups.in_group,
    });
    Ok(vec![family::dispatch(step, SHADER, &epilogue, params, items, Vec::new()).reading(input).reading_weights(step)])
}
