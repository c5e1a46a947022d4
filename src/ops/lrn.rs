//! Local response normalization over channels.

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

/// Local response normalization over channels.
pub(super) struct Lrn {
    pub(super) size: usize,
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) bias: f32,
}

impl Operator for Lrn {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.same()
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, Family::Pool, 2 * self.size, 1)
    }

    fn weights(&self, _graph: &Graph, _node: &Node) -> Vec<[f32; 4]> {
        Vec::new()
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernels::line::lrn(step, self.size, [self.alpha, self.beta, self.bias])
    }

    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::line::lrn(&operands.get(0)?, self.size, [self.alpha, self.beta, self.bias]))
    }
}
