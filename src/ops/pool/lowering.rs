//! Pools: the maximum, the mean or the norm of a window.

use std::ops::Range;

use super::{Pool2d, kernel, reference};
use crate::{
    graph::{self, Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, around, one_dispatch, pairs, plain},
        reduce,
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

/// Reduced axes of a pool over the whole image, which is the mean over height and width.
const IMAGE: [bool; 4] = [false, true, true, false];

impl Kernels for Pool2d {
    const SHADERS: &'static [Shader] = &[kernel::SHADER, reduce::kernel::MEAN, reduce::kernel::WIDE];
}

impl Operator for Pool2d {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        let pool = self;
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
        map.window(self.window[0], [self.stride[0], self.dilation[0], self.padding.top])
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Pool, self.window[0] * self.window[1], 1)
    }

    fn weights(&self, _graph: &Graph, _node: &Node) -> Vec<WeightSection> {
        Vec::new()
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        match step.node.inputs.first() {
            // Uses the kernel of means, because `rewrite::row_means` relies on its order of addition.
            Some(&x) if self.is_mean_of(step.graph.shape(x)) => {
                reduce::kernel::dispatches(step, graph::ReduceKind::Mean, IMAGE)
            }
            _ => kernel::dispatches(step, self),
        }
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = operands.get(0)?;
        Ok(if self.is_mean_of(x.shape) {
            reduce::reference::reduce(&x, graph::ReduceKind::Mean, IMAGE, out)
        } else {
            reference::pool(&x, self, out)
        })
    }
}
