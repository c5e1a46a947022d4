//! Depthwise convolutions.

use std::ops::Range;

use super::{
    conv,
    operator::{Operator, Properties, one_dispatch},
    reference::{self, Operands, ReferenceError},
    rows::RowMap,
    work::{Family, Work},
};
use crate::{
    graph::{self, Graph, Node, Shape},
    kernels::{self, Dispatch, KernelError, StepContext, conv::Kind},
};

/// Depthwise convolutions.
pub(super) struct DepthwiseConv2d<'a>(pub(super) &'a graph::Conv2d);

impl Operator for DepthwiseConv2d<'_> {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        conv::properties(self.0)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        conv::input_rows(map, self.0)
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        match kernels::depthwise::tiling(graph, node, self.0) {
            Some(tiling) => Work::new(graph, node, Family::Depthwise, 2 * tiling.taps, tiling.pixels),
            // One of several outputs an input is a convolution of many groups.
            None => conv::work(graph, node, self.0, Kind::Depthwise),
        }
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
        kernels::depthwise::weights(graph, node, self.0)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernels::depthwise::dispatches(step, self.0)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::conv::depthwise(&operands.get(0)?, &operands.get(1)?, operands.optional(2)?, self.0, out))
    }
}
