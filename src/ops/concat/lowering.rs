//! Concatenation: joins tensors along an axis.

use std::ops::Range;

use super::{Concat, kernel, reference};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, plain},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Concat {
    const SHADERS: &'static [Shader] = &[kernel::SHADER];
}

impl Operator for Concat {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::Any)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        let front = map.node.inputs[..map.operand].iter();
        let begin: usize = front.map(|&tensor| map.graph.shape(tensor).dims()[self.axis]).sum();
        match self.axis {
            0 => map.shifted([-(begin as isize), 0], [1, 1]),
            1 => map.shifted([0, -(begin as isize)], [1, 1]),
            _ => map.same(),
        }
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        kernel::dispatch_rows(graph, node, self.axis)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Concat, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        kernel::weights(graph, node, self.axis)
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernel::dispatches(step, self.axis)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::concat(&operands.all()?, self.axis, out))
    }
}
