//! 2-D convolutions, of groups too.

use std::ops::Range;

use super::{
    operator::{ConstantOperands, Operator, Properties, around, one_dispatch, pairs, plain},
    reference::{self, Operands, ReferenceError},
    rows::RowMap,
    work::{Family, Work},
};
use crate::{
    graph::{self, Graph, Node, Shape},
    kernels::{self, Dispatch, KernelError, StepContext, conv::Kind},
};

/// 2-D convolutions, of groups too.
pub(super) struct Conv2d<'a>(pub(super) &'a graph::Conv2d);

impl Operator for Conv2d<'_> {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        properties(self.0)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        input_rows(map, self.0)
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        work(graph, node, self.0, Kind::Full)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
        kernels::conv::weights(graph, node, self.0, Kind::Full)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernels::conv::dispatches(step, self.0, Kind::Full)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::conv::conv2d(&operands.get(0)?, &operands.get(1)?, operands.optional(2)?, self.0, out))
    }
}

/// The properties of a convolution, depthwise or not.
pub(super) fn properties(conv: &graph::Conv2d) -> Properties {
    let attributes =
        [&pairs("stride", conv.stride)[..], &pairs("dilation", conv.dilation), &around(conv.padding)].concat();
    Properties { attributes, ..plain(ConstantOperands::AfterFirst) }
}

/// The rows under the window of a convolution, depthwise or not.
pub(super) fn input_rows(map: &RowMap<'_>, conv: &graph::Conv2d) -> Vec<Range<u32>> {
    let taps = map.shape(1).map_or(1, |weights| weights.h);
    map.window(taps, [conv.stride[0], conv.dilation[0], conv.padding.top])
}

/// What a convolution has to do that runs in the convolutions' kernels, however its weights lie in the file.
pub(super) fn work(graph: &Graph, node: &Node, conv: &graph::Conv2d, kind: Kind) -> Work {
    let out = graph.shape(node.outputs[0]);
    let tiling = kernels::conv::tiling(graph, node, conv, kind);
    let block = tiling.block;
    let family = match (out.pixels(), out.slices(), block.slices, tiling.pointwise) {
        (0..=2, ..) => Family::Dense,
        (_, 1, ..) => Family::Narrow,
        (_, _, 4.., true) => Family::PointwiseDeep,
        (_, _, 4.., false) => Family::WindowDeep,
        (.., true) => Family::Pointwise,
        (.., false) => Family::Window,
    };
    Work::new(graph, node, family, 8 * tiling.taps * tiling.span, block.pixels * block.slices)
}
