//! Kernel of fully connected layers. They run as pointwise convolutions if each row of values is one pixel, and as
//! sums in dense order otherwise.

use crate::{
    graph::{Conv2d, Graph, Node, Padding},
    kernels::{
        ChannelWeights, Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightPieces,
        WeightSections, common,
        loops::{loops, taken_a_round},
        pack,
        shader::helpers::WEIGHTS,
        wgsl::shader_params,
    },
    ops::conv::kernel::{self as conv, WeightLayout},
};

pub(crate) const SHADER: Shader = Shader::new("dense", include_str!("../../../shaders/dense.wgsl"))
    .params::<Params>()
    .helpers(&[WEIGHTS])
    .loops(loops![k])
    .any_packing();

shader_params! {
    struct Params {
        inputs: usize,
        slices: usize,
    }
}

/// Returns `[inputs, outputs]` of the layer.
fn extents(graph: &Graph, node: &Node) -> [usize; 2] {
    let weights = graph.shape(node.inputs[1]);
    [weights.c, weights.w]
}

/// Returns the equivalent convolution of single pixels, if each row of values is one pixel.
pub(crate) fn as_pointwise(graph: &Graph, node: &Node) -> Option<Conv2d> {
    let [inputs, _] = extents(graph, node);
    (inputs == graph.shape(node.inputs[0]).c).then_some(Conv2d {
        stride: [1, 1],
        dilation: [1, 1],
        padding: Padding::default(),
        groups: 1,
    })
}

/// Packs weights as `conv` or the shader expects them, then biases. Each piece is one output slice.
pub(crate) fn weights<'a>(graph: &'a Graph, node: &'a Node) -> WeightPieces<'a> {
    if let Some(conv) = as_pointwise(graph, node) {
        return conv::weights(graph, node, &conv, WeightLayout::FullyConnected);
    }
    let Some(constant) = &graph.tensors[node.inputs[1]].constant else { return pack::nothing() };
    let values = constant.reals();
    let [inputs, outputs] = extents(graph, node);
    let of_slice = move |slice| {
        let mut texels = Vec::with_capacity(inputs.div_ceil(4) * 4);
        for k in 0..inputs.div_ceil(4) {
            texels.extend(pack::matrix(|i, o| {
                let (i, o) = (k * 4 + i, slice * 4 + o);
                if i < inputs && o < outputs { values.get(o * inputs + i) } else { 0.0 }
            }));
        }
        texels
    };
    let biases = std::iter::once_with(move || pack::bias(graph, node, outputs));
    Box::new((0..outputs.div_ceil(4)).map(of_slice).chain(biases))
}

/// Returns the layout of the weights per channel of the result.
pub(crate) fn channel_weights(graph: &Graph, node: &Node) -> ChannelWeights {
    if let Some(conv) = as_pointwise(graph, node) {
        return conv::channel_weights(graph, node, &conv, WeightLayout::FullyConnected);
    }
    let [inputs, _] = extents(graph, node);
    ChannelWeights { axis: 2, slice_texels: inputs.div_ceil(4) * 4 }
}

/// Returns the layout of the weights by slices of the result.
pub(crate) fn sections(graph: &Graph, node: &Node) -> WeightSections {
    if let Some(conv) = as_pointwise(graph, node) {
        return conv::sections(graph, node, &conv, WeightLayout::FullyConnected);
    }
    let [inputs, outputs] = extents(graph, node);
    WeightSections::new(outputs.div_ceil(4), 1, &[inputs.div_ceil(4) * 4, 1])
}

/// Returns one dispatch over the step's rows and slices.
pub(crate) fn dispatches(step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
    common::constant(step, 1)?;
    if let Some(conv) = as_pointwise(step.graph, step.node) {
        return conv::dispatches(step, &conv, WeightLayout::FullyConnected);
    }
    let input = common::placed(step, 0)?;
    let [inputs, _] = extents(step.graph, step.node);
    let slices = step.slices.len();
    let [bias, alphas] = step.behind_weights(inputs.div_ceil(4) * 4);
    let epilogue = EpilogueParams::with_alphas(step.graph, step.node, alphas, slices);
    let items = (step.rows.len() * step.output.shape.w * slices) as u32;
    let params = Params { inputs, slices };
    let params = KernelParams::new(step, &epilogue, items).bias(bias).input(input).params(&params);
    // Four values in dense order form a texel of the operand only if the number of channels is a multiple of four.
    let aligned = input.shape.c.is_multiple_of(4) && inputs.is_multiple_of(4);
    let fours = inputs.div_ceil(4);
    let taken = taken_a_round(fours);
    let constants = vec![("ALIGNED", common::flag(aligned)), ("TAKEN", taken as f64)];
    let shader = SHADER.reading(step.weights.packing);
    let extents = [("k", fours.div_ceil(taken))];
    let dispatch = common::dispatch(step, shader, &epilogue, params, items, constants, &extents);
    Ok(vec![dispatch.reading(input).reading_weights(step)])
}
