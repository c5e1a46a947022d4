//! Depthwise convolutions.

use std::ops::Range;

use super::{DepthwiseConv2d, kernel, reference};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        conv::{self, kernel::WeightLayout},
        operator::{Kernels, Operator, Properties, one_dispatch},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for DepthwiseConv2d {
    const SHADERS: &'static [Shader] = &[kernel::SHADER, conv::kernel::CONV];
}

impl Operator for DepthwiseConv2d {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        conv::lowering::properties(&self.0, kernel::channel_weights(graph, node, &self.0))
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        conv::lowering::input_rows(map, &self.0)
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        match kernel::tiling(graph, node, &self.0) {
            Some(tiling) => Work::new(graph, node, CostClass::Depthwise, 2 * tiling.taps, tiling.pixels),
            // With several outputs per input, or with a wide window, it runs as a convolution with many groups.
            None => conv::lowering::work(graph, node, &self.0, WeightLayout::Depthwise),
        }
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        kernel::weights(graph, node, &self.0)
    }

    fn weight_sections(&self, graph: &Graph, node: &Node) -> Option<WeightSections> {
        kernel::sections(graph, node, &self.0)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernel::dispatches(step, &self.0)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::depthwise(&operands.get(0)?, &operands.get(1)?, operands.optional(2)?, &self.0, out))
    }
}
