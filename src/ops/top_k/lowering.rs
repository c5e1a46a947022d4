//! Finds the greatest or least channels of each pixel, or their indices.

use std::ops::Range;

use super::{TopK, kernel, reference};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, one_dispatch, plain},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for TopK {
    const SHADERS: &'static [Shader] = &[kernel::NARROW, kernel::WIDE];
}

impl Operator for TopK {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        let answered = match (self.indices, &node.inputs[..]) {
            // Reported because channel indices are stored as floats, and 16-bit floats are exact only up to 2048.
            (true, &[x, ..]) => Some((node.output, graph.shape(x).c)),
            _ => None,
        };
        Properties { indices: answered, ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.same()
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::of_all_texels(graph, node, CostClass::Pool)
    }

    fn weights(&self, _graph: &Graph, _node: &Node) -> Vec<WeightSection> {
        Vec::new()
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernel::dispatches(step, self.largest, self.indices)
    }

    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::top_k(&operands.get(0)?, self.k, self.largest, self.indices))
    }
}
