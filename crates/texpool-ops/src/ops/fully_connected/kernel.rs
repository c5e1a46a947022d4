//! Kernel of fully connected layers. They run as pointwise convolutions if each row of values is one pixel, and as
//! sums in dense order otherwise.

use std::ops::Range;

use super::FullyConnected;
use crate::{
    graph::{Conv2d, Graph, Node, Padding},
    kernels::{
        ChannelWeights, Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightSection,
        WeightSections, common,
        loops::{loops, taken_a_round},
        shader::helpers::WEIGHTS,
        wgsl::shader_params,
    },
    ops::{
        conv::{
            kernel as conv,
            weights::{ConvGeometry, WeightLayout},
        },
        operator::{ConstantOperands, Kernels, Operator, Properties, one_dispatch, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for FullyConnected {
    const SHADERS: &'static [Shader] = &[SHADER, conv::POINTWISE];
}

impl Operator for FullyConnected {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        Properties { weights: Some(channel_weights(graph, node)), ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // If each pixel is a row of values, pixels keep their order, but not their rows.
        match map.shape(1) {
            Some(weights) if weights.c == map.from.c => map.dense_order(map.from.w, map.to.w),
            _ => map.everything(),
        }
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        if let Some(conv) = as_pointwise(graph, node) {
            return conv::work(graph, node, &conv, WeightLayout::FullyConnected);
        }
        let (weights, out) = (graph.shape(node.inputs[1]), graph.shape(node.output));
        let class = if out.pixels() > 2 { CostClass::Rows } else { CostClass::Dense };
        Work::new(graph, node, class, 8 * weights.slices(), 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        weights(graph, node)
    }

    fn weight_sections(&self, graph: &Graph, node: &Node) -> Option<WeightSections> {
        Some(sections(graph, node))
    }

    /// Returns one dispatch over the step's rows and slices.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
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
}

pub(crate) const SHADER: Shader = Shader::new("dense", texpool_shaders::DENSE)
    .chosen_if("the product is over more or fewer values than the channels of a pixel")
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
pub(super) fn channel_weights(graph: &Graph, node: &Node) -> ChannelWeights {
    if let Some(conv) = as_pointwise(graph, node) {
        return conv::channel_weights(graph, node, &conv, WeightLayout::FullyConnected);
    }
    let [inputs, _] = extents(graph, node);
    ChannelWeights { operand: 1, axis: 2, slice_texels: inputs.div_ceil(4) * 4 }
}

/// Returns the division of the weights by slices of the result.
pub(crate) fn sections(graph: &Graph, node: &Node) -> WeightSections {
    if let Some(conv) = as_pointwise(graph, node) {
        return conv::sections(graph, node, &conv, WeightLayout::FullyConnected);
    }
    let [inputs, outputs] = extents(graph, node);
    WeightSections::new(outputs.div_ceil(4), 1, &[inputs.div_ceil(4) * 4, 1])
}
