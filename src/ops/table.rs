//! The table of operators, and what is asked of one by its node.

use std::ops::Range;

use super::{
    binary, concat, conv, cum_sum, depth_to_space, depthwise, fully_connected, gather, gather_elements, grid_sample,
    lrn, matmul, normalize,
    operator::{Operator, Properties},
    pad, pool, prelu, reduce,
    reference::{Operands, ReferenceError},
    reshape, resize,
    rows::RowMap,
    softmax, space_to_depth, strided_slice, tile, top_k, transpose, transpose_conv, unary,
    work::Work,
};
use crate::{
    graph::{Graph, Node, Op, Shape},
    kernels::{Dispatch, KernelError, StepContext},
};

/// Does something with the operator that an [`Op`] is.
macro_rules! with_operator {
    ($op:expr, $operator:ident => $answer:expr) => {
        with_operator! { @table $op, $operator => $answer;
            Op::Conv2d(conv) => conv::Conv2d(conv),
            Op::DepthwiseConv2d(conv) => depthwise::DepthwiseConv2d(conv),
            Op::TransposeConv(conv) => transpose_conv::TransposeConv(conv),
            Op::FullyConnected => fully_connected::FullyConnected,
            Op::Pool2d(pool) => pool::Pool2d(pool),
            &Op::Reduce { kind, axes } => reduce::Reduce { kind, axes },
            &Op::Binary(function) => binary::Binary(function),
            &Op::Unary(function) => unary::Unary(function),
            Op::Prelu => prelu::Prelu,
            &Op::Pad { before, after, mode } => pad::Pad { before, after, mode },
            Op::Tile => tile::Tile,
            &Op::Gather { axis } => gather::Gather { axis },
            &Op::GatherElements { axis } => gather_elements::GatherElements { axis },
            &Op::Concat { axis } => concat::Concat { axis },
            &Op::StridedSlice { begin, stride } => strided_slice::StridedSlice { begin, stride },
            Op::Reshape => reshape::Reshape,
            &Op::Transpose { perm } => transpose::Transpose { perm },
            &Op::DepthToSpace { block, order } => depth_to_space::DepthToSpace { block, order },
            &Op::SpaceToDepth { block } => space_to_depth::SpaceToDepth { block },
            op @ &Op::Resize { mode, coords, scale } => resize::Resize { op, mode, coords, scale },
            &Op::GridSample(sampling) => grid_sample::GridSample(sampling),
            &Op::Softmax { beta, log } => softmax::Softmax { beta, log },
            &Op::MatMul { transpose_b } => matmul::MatMul { transpose_b },
            &Op::TopK { k, largest, indices } => top_k::TopK { k, largest, indices },
            &Op::Lrn { size, alpha, beta, bias } => lrn::Lrn { size, alpha, beta, bias },
            &Op::Normalize { axes, epsilon } => normalize::Normalize { axes, epsilon },
            &Op::CumSum { axis, exclusive, reverse } => cum_sum::CumSum { axis, exclusive, reverse },
        }
    };
    (@table $op:expr, $operator:ident => $answer:expr; $($variant:pat => $made:expr,)*) => {
        match $op {
            $($variant => {
                let $operator = $made;
                $answer
            })*
        }
    };
}

/// Constants, attributes and indices of a node.
pub(crate) fn properties(graph: &Graph, node: &Node) -> Properties {
    with_operator!(&node.op, operator => operator.properties(graph, node))
}

/// For each row of the node's result, the rows of operand `index` that are read; the operands are the node's inputs,
/// then what its epilogue adds. `None` for constants and for an index that is not there.
pub fn input_rows(graph: &Graph, node: &Node, index: usize) -> Option<Vec<Range<u32>>> {
    let added = index == node.inputs.len();
    let tensor = if added { node.epilogue.add? } else { *node.inputs.get(index)? };
    if graph.is_constant(tensor) {
        return None;
    }
    let (from, to) = (graph.shape(tensor), graph.shape(*node.outputs.first()?));
    let map = RowMap { graph, node, operand: index, from, to };
    Some(if added { map.same() } else { with_operator!(&node.op, operator => operator.input_rows(&map)) })
}

/// For each dispatch of a node, the rows of its result that it writes some of.
pub fn dispatch_rows(graph: &Graph, node: &Node) -> Vec<Range<u32>> {
    with_operator!(&node.op, operator => operator.dispatch_rows(graph, node))
}

/// What a node of a [valid](crate::graph::check) graph has to do, for costs that are predicted.
pub fn work(graph: &Graph, node: &Node) -> Work {
    with_operator!(&node.op, operator => operator.work(graph, node))
}

/// The texels that a node's kernel reads beside its tensors, without those of its epilogue.
pub(super) fn weights(graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
    with_operator!(&node.op, operator => operator.weights(graph, node))
}

/// The dispatches of a step, in order.
pub(super) fn dispatches(step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
    with_operator!(&step.node.op, operator => operator.dispatches(step))
}

/// The result of a node on the CPU, without its epilogue.
pub(super) fn reference(operands: &Operands<'_>, node: &Node, out: Shape) -> Result<Vec<f32>, ReferenceError> {
    with_operator!(&node.op, operator => operator.reference(operands, out))
}
