//! Running sums along an axis.

use std::ops::Range;

use super::{CumSum, kernel, reference};
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

impl Kernels for CumSum {
    const SHADERS: &'static [Shader] = &[kernel::SHADER];
}

impl Operator for CumSum {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // Along height, a row reads all rows before it (or after it, in reverse). It reads itself unless the sum is
        // exclusive.
        let own = isize::from(!self.exclusive);
        match self.axis {
            0 if map.from.b > 1 => map.everything(),
            1 if self.reverse => map.each(|y| y as isize + 1 - own..map.from.h as isize),
            1 => map.each(|y| 0..y as isize + own),
            _ => map.same(),
        }
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
        kernel::dispatches(step, self.axis, self.exclusive, self.reverse)
    }

    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::cum_sum(&operands.get(0)?, self.axis, self.exclusive, self.reverse))
    }
}
