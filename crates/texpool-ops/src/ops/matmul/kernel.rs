//! Kernel of matrix products of two tensors, one of which may be a constant.

use super::MatMul;
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, KernelError, Shader, StepContext,
        block::{Block, Layer},
        common,
        loops::loops,
        params::ConstantTensor,
        shader::helpers::WEIGHTS,
        wgsl::shader_params,
    },
    ops::{
        binary::kernel as binary,
        operator::{Kernels, Operator, category},
        work::{CostClass, Work},
    },
};

impl Kernels for MatMul {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for MatMul {
    category!(two_operands);

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        let depth = depth(graph, node);
        let block = block(graph, node);
        Work::new(graph, node, CostClass::Rows, 8 * depth, block.pixels * block.slices)
    }

    /// Returns one dispatch over the step's rows, each of which is a whole product.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let out = step.output.shape;
        let block = block(step.graph, step.node);
        let blocks = out.w.div_ceil(block.pixels);
        let items = (step.rows.len() * blocks * out.slices().div_ceil(block.slices)) as u32;
        // Either the first loop runs, or the other two.
        let depth = depth(step.graph, step.node);
        let [k, four, rest] = if self.transpose_b { [depth, 0, 0] } else { [0, depth, 3] };
        let extents = [("k", k), ("four", four), ("rest", rest)];
        let constants = vec![
            ("PIXELS", block.pixels as f64),
            ("SLICES", block.slices as f64),
            ("TRANSPOSED", common::flag(self.transpose_b)),
        ];
        binary::reading_two(step, SHADER, items, |constant| Params { blocks, constant }, constants, &extents)
    }
}

pub(crate) const SHADER: Shader = Shader::new("matmul", texpool_shaders::MATMUL)
    .constants(&[binary::CONSTANT_OPERANDS])
    .params::<Params>()
    .helpers(&[WEIGHTS])
    .loops(loops![k, four, rest]);

shader_params! {
    struct Params {
        blocks: usize,
        constant: ConstantTensor,
    }
}

/// Returns the number of slices that are multiplied for each texel of the product.
pub(crate) fn depth(graph: &Graph, node: &Node) -> usize {
    node.inputs.first().map_or(1, |&a| graph.shape(a).slices())
}

/// Returns the block that an invocation computes.
pub(crate) fn block(graph: &Graph, node: &Node) -> Block {
    let out = graph.shape(node.output);
    // Rows of the product correspond to a convolution's pixels, and K to its channels.
    let layer = Layer { pixels: out.w, slices: out.slices(), depth: depth(graph, node), is_pointwise: true };
    // No block is measured for products, which have a kernel of their own.
    Block::of_class(graph.blocks.class(), &layer)
}
