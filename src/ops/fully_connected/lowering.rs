//! Fully connected layers.

use std::ops::Range;

use super::{FullyConnected, kernel, reference};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        conv::{self, kernel::WeightLayout},
        operator::{ConstantOperands, Kernels, Operator, Properties, one_dispatch, plain},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for FullyConnected {
    const SHADERS: &'static [Shader] = &[kernel::SHADER, conv::kernel::POINTWISE];
}

impl Operator for FullyConnected {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        Properties { weights: Some(kernel::channel_weights(graph, node)), ..plain(ConstantOperands::AfterFirst) }
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
        if let Some(conv) = kernel::as_pointwise(graph, node) {
            return conv::lowering::work(graph, node, &conv, WeightLayout::FullyConnected);
        }
        let (weights, out) = (graph.shape(node.inputs[1]), graph.shape(node.output));
        let class = if out.pixels() > 2 { CostClass::Rows } else { CostClass::Dense };
        Work::new(graph, node, class, 8 * weights.slices(), 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        kernel::weights(graph, node)
    }

    fn weight_sections(&self, graph: &Graph, node: &Node) -> Option<WeightSections> {
        Some(kernel::sections(graph, node))
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernel::dispatches(step)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::fully_connected(&operands.get(0)?, &operands.get(1)?, operands.optional(2)?, out))
    }
}
