//! Shape inference: what an operator makes of its operands' shapes. Knows no tensors, no values and no order of nodes.

mod error;
mod layout;
mod operands;
mod pointwise;
mod window;

pub use error::ShapeError;

use super::{Op, Shape};
use operands::only;

/// The shape that `op` gives for operands of the shapes `inputs`.
///
/// Where the operator leaves its result's shape open (reshape, resize, slice, tile, transposed convolution, and the outer
/// extents of a fully connected layer), `stated` decides, and is checked for being possible.
///
/// # Errors
/// If the operator cannot take such operands, or cannot give `stated`.
pub fn infer(op: &Op, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
    match op {
        Op::Conv2d(conv) => window::conv2d(conv, inputs),
        Op::DepthwiseConv2d(conv) => window::depthwise(conv, inputs),
        Op::TransposeConv(conv) => window::transpose_conv(conv, inputs, stated),
        Op::Pool2d(pool) => window::pool(pool, inputs),
        Op::FullyConnected => pointwise::fully_connected(inputs, stated),
        Op::Reduce { kind, axes } => pointwise::reduce(*kind, *axes, inputs),
        Op::Binary(_) => pointwise::binary(inputs),
        Op::Prelu => pointwise::prelu(inputs),
        Op::Unary(_) | Op::Softmax { .. } | Op::Normalize { .. } => only(inputs),
        Op::MatMul { transpose_b } => pointwise::matmul(*transpose_b, inputs),
        Op::TopK { k, .. } => pointwise::top_k(*k, inputs),
        Op::Lrn { size, .. } => pointwise::lrn(*size, inputs),
        Op::CumSum { axis, .. } => pointwise::cum_sum(*axis, inputs),
        Op::Pad { before, after, mode } => layout::pad(before, after, *mode, inputs),
        Op::Tile => layout::tile(inputs, stated),
        Op::Gather { axis } => layout::gather(*axis, inputs),
        Op::GatherElements { axis } => layout::gather_elements(*axis, inputs),
        Op::Concat { axis } => layout::concat(*axis, inputs),
        Op::StridedSlice { begin, stride } => layout::slice(begin, stride, inputs, stated),
        Op::Reshape => layout::reshape(inputs, stated),
        Op::Transpose { perm } => layout::transpose(*perm, inputs),
        Op::DepthToSpace { block, .. } => layout::depth_to_space(*block, inputs),
        Op::SpaceToDepth { block } => layout::space_to_depth(*block, inputs),
        Op::Resize { .. } => layout::resize(op, inputs, stated),
        Op::GridSample(_) => layout::grid_sample(inputs),
    }
}
