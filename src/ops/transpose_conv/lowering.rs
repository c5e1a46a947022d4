//! Transposed 2-D convolutions.

use std::ops::Range;

use super::{TransposeConv, kernel, reference};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, around, one_dispatch, pairs, plain},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for TransposeConv {
    const SHADERS: &'static [Shader] = &[kernel::SHADER];
}

impl Operator for TransposeConv {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        let conv = self;
        let window = node.inputs.get(1).map_or([1; 2], |&weights| [graph.shape(weights).h, graph.shape(weights).w]);
        // The kernel multiplies taps by the dilation in 32 bits, so the product of the two is limited.
        let reach = [0, 1].map(|axis| window[axis].saturating_mul(conv.dilation[axis]));
        let attributes =
            [&pairs("stride", conv.stride)[..], &pairs("dilated window", reach), &around(conv.padding)].concat();
        let weights = Some(kernel::channel_weights(graph, node, conv));
        Properties { attributes, weights, ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // Input row `i` contributes to the output rows from `i * stride - top` over the height of the window.
        let conv = self;
        let reach = map.shape(1).map_or(1, |weights| weights.h).saturating_sub(1) * conv.dilation[0] + 1;
        let (stride, top) = (conv.stride[0].max(1) as isize, conv.padding.top as isize);
        map.each(|y| {
            let y = y as isize + top;
            let first = (y - reach as isize + 1).max(0);
            (first + stride - 1) / stride..y / stride + 1
        })
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        let [y, x] = self.stride;
        let k = graph.shape(node.inputs[1]);
        // Each pixel of the result uses only one tap per stride.
        let taps = (k.h * k.w).div_ceil(y.max(1) * x.max(1));
        Work::new(graph, node, CostClass::Transposed, 8 * taps * k.slices(), 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        kernel::weights(graph, node, self)
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernel::dispatches(step, self)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::transpose_conv(&operands.get(0)?, &operands.get(1)?, operands.optional(2)?, self, out))
    }
}
