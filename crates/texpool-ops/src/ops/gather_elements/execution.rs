//! Looks up each element along an axis with a separate index.

use std::ops::Range;

use super::GatherElements;
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection},
    ops::{
        gather::{self, named},
        operator::{Kernels, Operator, Properties, category},
        reference::{Operands, Reference, ReferenceError, each},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for GatherElements {
    const SHADERS: &'static [Shader] = &[gather::kernel::SHADER];
}

impl Operator for GatherElements {
    category!(undivided_weights);

    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        gather::kernel::properties(graph, node, self.axis)
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

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Move, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        gather::kernel::weights(graph, node)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        gather::kernel::dispatches(step, self.axis, true)
    }
}

impl Reference for GatherElements {
    /// Looks up each element along `axis` with the index at its position.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let indices = &operands.get(1)?;
        Ok(each(out, |mut index| {
            index[self.axis] = named(indices.at(index), x.shape.dims()[self.axis]);
            x.at(index)
        }))
    }
}
