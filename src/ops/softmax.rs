//! Softmax over channels, and its logarithm.

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

/// Softmax over channels, and its logarithm.
pub(super) struct Softmax {
    pub(super) beta: f32,
    pub(super) log: bool,
}

impl Operator for Softmax {
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
        Work::new(graph, node, Family::Softmax, 1, 1)
    }

    fn weights(&self, _graph: &Graph, _node: &Node) -> Vec<[f32; 4]> {
        Vec::new()
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernels::softmax::dispatches(step, self.beta, self.log)
    }

    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::pixel::softmax(&operands.get(0)?, self.beta, self.log))
    }
}
