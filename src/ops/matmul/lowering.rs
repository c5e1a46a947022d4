//! Matrix products of two tensors, one of which may be a constant.

use std::ops::Range;

use super::{MatMul, kernel, reference};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        binary,
        operator::{ConstantOperands, Kernels, Operator, Properties, one_dispatch, plain},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for MatMul {
    const SHADERS: &'static [Shader] = &[kernel::SHADER];
}

impl Operator for MatMul {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::OneOfTwo)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // A row is a whole matrix of width by channels.
        map.same()
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        let depth = kernel::depth(graph, node);
        let block = kernel::block(graph, node);
        Work::new(graph, node, CostClass::Rows, 8 * depth, block.pixels * block.slices)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        binary::kernel::weights(graph, node)
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernel::dispatches(step, self.transpose_b)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::matmul(&operands.get(0)?, &operands.get(1)?, self.transpose_b, out))
    }
}
