//! Parts of tensors and joined tensors, between the nodes of an operator that becomes several.

use crate::import::{error::Problem, tflite::operator_lowering::OperatorLowering};
use texpool_ops::graph::{Concat, Op, Shape, StridedSlice, TensorId};

/// Returns the part of a tensor from `begin` on.
pub(super) fn part(
    ctx: &mut OperatorLowering<'_, '_>,
    x: TensorId,
    begin: [usize; 4],
    shape: Shape,
) -> Result<TensorId, Problem> {
    if ctx.shape(x) == shape {
        return Ok(x);
    }
    ctx.between(Op::StridedSlice(StridedSlice { begin, stride: [1; 4] }), &[x], shape)
}

/// Joins tensors along an axis. A single one is copied, so that a constant becomes a tensor that a node computes.
pub(super) fn joined(ctx: &mut OperatorLowering<'_, '_>, axis: usize, parts: &[TensorId]) -> Result<TensorId, Problem> {
    let mut dims = ctx.shape(parts[0]).dims();
    dims[axis] = parts.iter().map(|&part| ctx.shape(part).dims()[axis]).sum();
    ctx.between(Op::Concat(Concat { axis }), parts, dims.into())
}

/// Returns a tensor in another shape that kernels can read: a constant becomes a tensor that a node computes.
pub(super) fn stored(ctx: &mut OperatorLowering<'_, '_>, id: TensorId, shape: Shape) -> Result<TensorId, Problem> {
    let id = ctx.view(id, shape)?;
    if ctx.is_constant(id) { joined(ctx, 0, &[id]) } else { Ok(id) }
}
