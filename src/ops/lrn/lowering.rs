//! Local response normalization over channels.

use std::ops::Range;

use super::{Lrn, kernel, reference};
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

impl Kernels for Lrn {
    const SHADERS: &'static [Shader] = &[kernel::SHADER];
}

impl Operator for Lrn {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.same()
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Pool, 2 * self.size, 1)
    }

    fn weights(&self, _graph: &Graph, _node: &Node) -> Vec<WeightSection> {
        Vec::new()
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernel::dispatches(step, self.size, [self.alpha, self.beta, self.bias])
    }

    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::lrn(&operands.get(0)?, self))
    }
}
