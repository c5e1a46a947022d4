//! Looks up each element along an axis with a separate index.

use std::ops::Range;

use super::{GatherElements, reference};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        gather,
        operator::{Kernels, Operator, Properties, one_dispatch},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for GatherElements {
    const SHADERS: &'static [Shader] = &[gather::kernel::SHADER];
}

impl Operator for GatherElements {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        gather::lowering::properties(graph, node, self.axis)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        match (map.operand, self.axis) {
            // Each element has a separate index, so all rows along the axis are needed.
            (0, 0) => map.everything(),
            (0, 1) => map.each(|_| 0..map.from.h as isize),
            // If there are fewer rows of indices than of elements, they correspond to the first rows of each batch.
            (0, _) => map.each(|y| y as isize..y as isize + 1),
            // The indices have the shape of the result.
            _ => map.same(),
        }
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Move, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        gather::kernel::weights(graph, node)
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        gather::kernel::dispatches(step, self.axis, true)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::gather_elements(&operands.get(0)?, &operands.get(1)?, self.axis, out))
    }
}
