//! Matrix products of two tensors, one of which may be a constant.

use std::ops::Range;

use super::{
    operator::{ConstantOperands, Operator, Properties, one_dispatch, plain},
    reference::{self, Operands, ReferenceError},
    rows::RowMap,
    work::{Family, Work},
};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{self, Dispatch, KernelError, StepContext},
};

/// Matrix products of two tensors, one of which may be a constant.
pub(super) struct MatMul {
    pub(super) transpose_b: bool,
}

impl Operator for MatMul {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::OneOfTwo)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.same()
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        let depth = kernels::matmul::depth(graph, node);
        let block = kernels::matmul::block(graph, node);
        Work::new(graph, node, Family::Rows, 8 * depth, block.pixels * block.slices)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
        kernels::binary::weights(graph, node)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernels::matmul::dispatches(step, self.transpose_b)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::dense::matmul(&operands.get(0)?, &operands.get(1)?, self.transpose_b, out))
    }
}
