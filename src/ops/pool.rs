//! The greatest, the mean or the norm of a window.

use std::ops::Range;

use super::{
    operator::{ConstantOperands, Operator, Properties, around, one_dispatch, pairs, plain},
    reference::{self, Operands, ReferenceError},
    rows::RowMap,
    work::{Family, Work},
};
use crate::{
    graph::{self, Graph, Node, Shape},
    kernels::{self, Dispatch, KernelError, StepContext},
};

/// The greatest, the mean or the norm of a window.
pub(super) struct Pool2d<'a>(pub(super) &'a graph::Pool2d);

/// A pool over the whole image is the mean over height and width.
const IMAGE: [bool; 4] = [false, true, true, false];

impl Operator for Pool2d<'_> {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        let Self(pool) = self;
        let counted = pool.counted.unwrap_or_default();
        let attributes = [
            &pairs("window", pool.window)[..],
            &pairs("stride", pool.stride),
            &pairs("dilation", pool.dilation),
            &around(pool.padding),
            &around(counted),
        ]
        .concat();
        Properties { attributes, ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.window(self.0.window[0], [self.0.stride[0], self.0.dilation[0], self.0.padding.top])
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, Family::Pool, self.0.window[0] * self.0.window[1], 1)
    }

    fn weights(&self, _graph: &Graph, _node: &Node) -> Vec<[f32; 4]> {
        Vec::new()
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        match step.node.inputs.first() {
            Some(&x) if self.0.is_mean_of(step.graph.shape(x)) => {
                kernels::reduce::dispatches(step, graph::Reduce::Mean, IMAGE)
            }
            _ => kernels::pool::dispatches(step, self.0),
        }
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = operands.get(0)?;
        Ok(if self.0.is_mean_of(x.shape) {
            reference::reduce::reduce(&x, graph::Reduce::Mean, IMAGE, out)
        } else {
            reference::pool::pool(&x, self.0, out)
        })
    }
}
