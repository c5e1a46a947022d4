//! Kernel of fully connected layers. They run as pointwise convolutions if each row of values is one pixel, and as
//! sums in dense order otherwise.

use crate::{
    graph::{Conv2d, Graph, Node, Padding},
    kernels::{
        ChannelWeights, Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightSection,
        WeightSections, common,
        loops::{loops, taken_a_round},
        shader::helpers::WEIGHTS,
        wgsl::shader_params,
    },
    ops::conv::kernel::{self as conv, ConvGeometry, WeightLayout},
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

/// Returns the weights by output slice and input slice, which `conv` and the shader expect alike, and the biases.
pub(crate) fn weights(graph: &Graph, node: &Node) -> Vec<WeightSection> {
    ConvGeometry::dense(extents(graph, node)).sections(graph, node, 1)
}

/// Returns the layout of the weights per channel of the result.
pub(crate) fn channel_weights(graph: &Graph, node: &Node) -> ChannelWeights {
    if let Some(conv) = as_pointwise(graph, node) {
        return conv::channel_weights(graph, node, &conv, WeightLayout::FullyConnected);
    }
    let [inputs, _] = extents(graph, node);
    ChannelWeights { axis: 2, slice_texels: inputs.div_ceil(4) * 4 }
}

/// Returns the division of the weights by slices of the result.
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
    let epilogue = EpilogueParams::new(step);
    let items = (step.rows.len() * step.output.shape.w * slices) as u32;
    let params = Params { inputs, slices };
    let params = KernelParams::new(step, &epilogue, items).biases(step).input(input).params(&params);
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
