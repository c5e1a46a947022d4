//! Functions of two values, with broadcasting.

use std::ops::Range;

use super::{Binary, kernel, reference};
use crate::{
    graph::{self, Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, one_dispatch, plain},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Binary {
    const SHADERS: &'static [Shader] = &[kernel::SHADER];
}

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
        Work::new(graph, node, CostClass::Elementwise, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        kernel::weights(graph, node)
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernel::dispatches(step, kernel::code(*self))
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::broadcast(&operands.get(0)?, &operands.get(1)?, out, |a, b| graph::evaluate::binary(*self, a, b)))
    }
}
