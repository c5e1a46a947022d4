//! Transpose: reorders the axes.

use std::ops::Range;

use super::{Transpose, reference};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections, rearrange},
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, one_dispatch, plain},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Transpose {
    const SHADERS: &'static [Shader] = &[rearrange::SHADER];
}

impl Operator for Transpose {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // Rows consist of batch and height; any other order combines elements of many rows into one.
        if self.perm[..2] == [0, 1] { map.same() } else { map.everything() }
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Move, 1, 1)
    }

    fn weights(&self, _graph: &Graph, _node: &Node) -> Vec<WeightSection> {
        Vec::new()
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        rearrange::dispatches(step, rearrange::transpose(self.perm))
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::transpose(&operands.get(0)?, self.perm, out))
    }
}
