//! Pixels of an image at places that a grid names.

use std::ops::Range;

use super::{
    operator::{ConstantOperands, Operator, Properties, one_dispatch, plain},
    reference::{self, Operands, ReferenceError},
    rows::RowMap,
    work::{Family, Work},
};
use crate::{
    graph::{self, Graph, Node, Shape},
    kernels::{self, Dispatch, KernelError, StepContext},
};

/// Pixels of an image at places that a grid names.
pub(super) struct GridSample(pub(super) graph::GridSample);

impl Operator for GridSample {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // A place may be anywhere in the image.
        if map.operand == 0 { map.each(|_| 0..map.from.h as isize) } else { map.same() }
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, Family::Resize, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
        kernels::grid_sample::weights(graph, node)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernels::grid_sample::dispatches(step, self.0)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::grid_sample::grid_sample(&operands.get(0)?, &operands.get(1)?, self.0, out))
    }
}
