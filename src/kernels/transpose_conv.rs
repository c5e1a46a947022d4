//! Transposed 2-D convolutions.

use super::{Dispatch, KernelError, Shader, StepContext, TailPlan, Words, family, pack};
use crate::graph::{Graph, Node, Shape, TransposeConv};

const SHADER: Shader = Shader { name: "transpose_conv", source: include_str!("../../shaders/transpose_conv.wgsl") };

/// Texels of the weights, without the biases; `file` is `[O, KH, KW, I]`.
const fn texels(file: Shape) -> usize {
    file.b.div_ceil(4) * file.h * file.w * file.slices() * 4
}

/// Weights by output slice, tap and input slice, then biases.
pub(super) fn weights(graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
    let Some(constant) = &graph.tensors[node.inputs[1]].constant else { return Vec::new() };
    let values = constant.to_f32();
    let file = graph.shape(node.inputs[1]);
    let weight = |o: usize, ky, kx, i: usize| {
        if o < file.b && i < file.c { values[file.index(o, ky, kx, i)] } else { 0.0 }
    };
    let mut packed = Vec::with_capacity(texels(file));
    for slice in 0..file.b.div_ceil(4) {
        for ky in 0..file.h {
            for kx in 0..file.w {
                for k in 0..file.slices() {
                    packed.extend(pack::matrix(|i, o| weight(slice * 4 + o, ky, kx, k * 4 + i)));
                }
            }
        }
    }
    packed.extend(pack::bias(graph, node, file.b));
    packed
}

/// One texel an invocation.
pub(super) fn dispatches(step: &StepContext<'_>, conv: &TransposeConv) -> Result<Vec<Dispatch>, KernelError> {
    if conv.dilation != [1, 1] || conv.groups != 1 {
        return Err(family::unsupported(step, super::NO_KERNEL.into()));
    }
    let input = family::placed(step, 0)?;
    family::constant(step, 1)?;
    if step.node.inputs.len() > 2 {
        family::constant(step, 2)?;
    }
    let file = step.graph.shape(step.node.inputs[1]);
    let bias = texels(file);
    let plan = TailPlan::new(step.graph, step.node, bias + file.b.div_ceil(4));
    let items = family::texels(step);
    let words = Words::new(step, &plan, items)
        .input(input)
        .own([file.h, file.w, conv.stride[0], conv.stride[1]].map(|v| v as u32))
        .own([conv.padding.top, conv.padding.left, bias, 0].map(|v| v as u32));
    Ok(vec![family::dispatch(step, SHADER, &plan, words, items, Vec::new()).reading(input).reading_weights(step)])
}
