//! Channels to blocks of pixels.

use std::ops::Range;

use super::{
    operator::{ConstantOperands, Operator, Properties, one_dispatch, plain},
    reference::{self, Operands, ReferenceError},
    rows::RowMap,
    work::{Family, Work},
};
use crate::{
    graph::{DepthOrder, Graph, Node, Shape},
    kernels::{self, Dispatch, KernelError, StepContext},
};

/// Channels to blocks of pixels.
pub(super) struct DepthToSpace {
    pub(super) block: usize,
    pub(super) order: DepthOrder,
}

impl Operator for DepthToSpace {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.per_block(self.block, 1)
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, Family::Move, 1, 1)
    }

    fn weights(&self, _graph: &Graph, _node: &Node) -> Vec<[f32; 4]> {
        Vec::new()
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernels::rearrange::dispatches(step, kernels::rearrange::Map::DepthToSpace(self.block, self.order))
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::shuffle::depth_to_space(&operands.get(0)?, self.block, self.order, out))
    }
}
