//! Functions of two values, with broadcasting.

use std::ops::Range;

use super::{
    operator::{ConstantOperands, Operator, Properties, one_dispatch, plain},
    reference::{self, Operands, ReferenceError},
    rows::RowMap,
    work::{Family, Work},
};
use crate::{
    graph::{self, Graph, Node, Shape},
    kernels::{self, Dispatch, KernelError, StepContext},
};

/// Functions of two values, with broadcasting.
pub(super) struct Binary(pub(super) graph::Binary);

impl Operator for Binary {
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
        Work::new(graph, node, Family::Elementwise, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
        kernels::binary::weights(graph, node)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernels::binary::dispatches(step, kernels::binary::code(self.0))
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::pixel::two(&operands.get(0)?, &operands.get(1)?, out, |a, b| {
            graph::evaluate::binary(self.0, a, b)
        }))
    }
}
