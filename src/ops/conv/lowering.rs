//! 2-D convolutions, with groups.

use std::ops::Range;

use super::{
    Conv2d,
    kernel::{self, WeightLayout},
    reference,
};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{ChannelWeights, Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, around, one_dispatch, pairs, plain},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Conv2d {
    const SHADERS: &'static [Shader] = &[kernel::CONV, kernel::POINTWISE];
}

impl Operator for Conv2d {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        properties(self, kernel::channel_weights(graph, node, self, WeightLayout::Full))
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        input_rows(map, self)
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        work(graph, node, self, WeightLayout::Full)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        kernel::weights(graph, node, self, WeightLayout::Full)
    }

    fn weight_sections(&self, graph: &Graph, node: &Node) -> Option<WeightSections> {
        Some(kernel::sections(graph, node, self, WeightLayout::Full))
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernel::dispatches(step, self, WeightLayout::Full)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::conv2d(&operands.get(0)?, &operands.get(1)?, operands.optional(2)?, self, out))
    }
}

/// Returns the properties of a convolution, depthwise or not.
pub(crate) fn properties(conv: &Conv2d, weights: ChannelWeights) -> Properties {
    let attributes =
        [&pairs("stride", conv.stride)[..], &pairs("dilation", conv.dilation), &around(conv.padding)].concat();
    Properties { attributes, weights: Some(weights), ..plain(ConstantOperands::AfterFirst) }
}

/// Returns the rows under the window of a convolution, depthwise or not.
pub(crate) fn input_rows(map: &RowMap<'_>, conv: &Conv2d) -> Vec<Range<u32>> {
    let taps = map.shape(1).map_or(1, |weights| weights.h);
    map.window(taps, [conv.stride[0], conv.dilation[0], conv.padding.top])
}

/// Returns the work of a convolution that runs in the general kernels, for any weight layout.
pub(crate) fn work(graph: &Graph, node: &Node, conv: &Conv2d, kind: WeightLayout) -> Work {
    let out = graph.shape(node.output);
    let tiling = kernel::tiling(graph, node, conv, kind);
    let block = tiling.block;
    let class = match (out.pixels(), out.slices(), block.slices, tiling.pointwise) {
        (0..=2, ..) => CostClass::Dense,
        (_, 1, ..) => CostClass::Narrow,
        (_, _, 4.., true) => CostClass::PointwiseDeep,
        (_, _, 4.., false) => CostClass::WindowDeep,
        (.., true) => CostClass::Pointwise,
        (.., false) => CostClass::Window,
    };
    // Each lane of the result needs four products and four sums per tap and slice of the operand.
    Work::new(graph, node, class, 8 * tiling.taps * tiling.span, block.pixels * block.slices)
}
