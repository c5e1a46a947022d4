//! Reductions: combine all elements along some axes.

use std::ops::Range;

use super::{kernel, reference};
use crate::{
    graph::{Graph, Node, Reduce, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, one_dispatch, plain},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Reduce {
    const SHADERS: &'static [Shader] = &[kernel::MEAN, kernel::REDUCE, kernel::WIDE];
}

impl Operator for Reduce {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        // Reported because an index is stored as a float, and 16-bit floats represent whole numbers only up to 2048.
        let answered = match (self.kind.is_index(), &node.inputs[..]) {
            (true, &[x, ..]) => {
                let extents = graph.shape(x).dims();
                Some((node.output, (0..4).filter(|&axis| self.axes[axis]).map(|axis| extents[axis]).product()))
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
        Work::of_all_texels(graph, node, CostClass::Reduce)
    }

    fn weights(&self, _graph: &Graph, _node: &Node) -> Vec<WeightSection> {
        Vec::new()
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernel::dispatches(step, self.kind, self.axes)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::reduce(&operands.get(0)?, self.kind, self.axes, out))
    }
}
