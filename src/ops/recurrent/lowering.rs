//! Recurrent cells that walk along the width.

use std::ops::Range;

use super::{Recurrent, kernel, reference};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections, pack},
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, one_dispatch, plain},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Recurrent {
    const SHADERS: &'static [Shader] = &[kernel::SHADER];
}

impl Operator for Recurrent {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // A row is a whole sequence of one batch and direction.
        map.same()
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        // Each hidden value of a step is the sum of a product with all hidden values, once per gate.
        let out = graph.shape(node.output);
        let steps = node.inputs.first().map_or(1, |&x| graph.shape(x).w).div_ceil(out.w.max(1));
        Work::new(graph, node, CostClass::Rows, 2 * self.cell.gates() * Self::terms(out.c) * steps, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        pack::whole_operand(graph, node, 1)
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernel::dispatches(step, self)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::recurrent(&operands.get(0)?, &operands.get(1)?, operands.optional(2)?.as_ref(), self, out))
    }
}
