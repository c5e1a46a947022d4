//! Axes reduced to one element.

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

/// Axes reduced to one element.
pub(super) struct Reduce {
    pub(super) kind: graph::Reduce,
    pub(super) axes: [bool; 4],
}

impl Operator for Reduce {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        let answered = match (self.kind.is_index(), &node.inputs[..], &node.outputs[..]) {
            (true, &[x, ..], &[to, ..]) => {
                let extents = graph.shape(x).dims();
                Some((to, (0..4).filter(|&axis| self.axes[axis]).map(|axis| extents[axis]).product()))
            }
            _ => None,
        };
        Properties { indices: answered, ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.reduced(self.axes)
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::of_all_texels(graph, node, Family::Reduce)
    }

    fn weights(&self, _graph: &Graph, _node: &Node) -> Vec<[f32; 4]> {
        Vec::new()
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernels::reduce::dispatches(step, self.kind, self.axes)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::reduce::reduce(&operands.get(0)?, self.kind, self.axes, out))
    }
}
