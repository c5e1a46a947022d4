//! Element by element, the one along an axis that an index of its own names.

use std::ops::Range;

use super::{
    gather,
    operator::{Operator, Properties, one_dispatch},
    reference::{self, Operands, ReferenceError},
    rows::RowMap,
    work::{Family, Work},
};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{self, Dispatch, KernelError, StepContext},
};

/// Element by element, the one along an axis that an index of its own names.
pub(super) struct GatherElements {
    pub(super) axis: usize,
}

impl Operator for GatherElements {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        gather::properties(graph, node, self.axis)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        match (map.operand, self.axis) {
            (0, 0) => map.everything(),
            (0, 1) => map.each(|_| 0..map.from.h as isize),
            // Where there are fewer rows of indices than of elements, they are the first of each batch.
            (0, _) => map.each(|y| y as isize..y as isize + 1),
            // The indices.
            _ => map.same(),
        }
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, Family::Move, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
        kernels::gather::weights(graph, node)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernels::gather::dispatches(step, self.axis, true)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::moves::gather_elements(&operands.get(0)?, &operands.get(1)?, self.axis, out))
    }
}
