//! Constants read and replaced by rules that fold something into them.

use std::borrow::Cow;

use super::{context::RewriteContext, edit::Edit, skip_reason::SkipReason};
use crate::graph::{Constant, Node, Shape, Tensor, TensorId};

pub(super) fn values(ctx: &RewriteContext, tensor: TensorId) -> Result<Cow<'_, [f32]>, SkipReason> {
    let constant = ctx.graph.tensors[tensor].constant.as_ref();
    let constant = constant.ok_or_else(|| SkipReason::NotConstant { tensor: ctx.name(tensor) })?;
    ctx.charge_read(constant.len())?;
    Ok(constant.to_f32())
}

/// Adds a constant with other values than `old`, which stays: others may read it.
pub(super) fn changed(
    ctx: &RewriteContext,
    old: TensorId,
    shape: Shape,
    values: &[f32],
    edit: &mut Edit,
) -> Result<TensorId, SkipReason> {
    let name = ctx.name(old);
    ctx.charge_created(values.len())?;
    // The file's own nodes may stay finite where the folded constant overflows.
    if values.iter().any(|value| !value.is_finite()) {
        return Err(SkipReason::NotFinite { tensor: name });
    }
    let dims = match ctx.graph.shape(old) == shape {
        true => ctx.graph.tensors[old].dims.clone(),
        false => vec![values.len()],
    };
    let constant = Some(Constant::from_f32(values));
    Ok(edit.add(&ctx.graph, Tensor { dims, constant, ..Tensor::new(name, shape) }))
}

/// The extents of a list of one value a channel.
pub(super) const fn list(len: usize) -> Shape {
    Shape { b: 1, h: 1, w: 1, c: len }
}

/// The weights of a node, and its bias where it has one.
pub(super) fn weights_and_bias(node: &Node) -> Result<(TensorId, Option<TensorId>), SkipReason> {
    match node.inputs[..] {
        [_, weights] => Ok((weights, None)),
        [_, weights, bias] => Ok((weights, Some(bias))),
        _ => Err(SkipReason::UnsupportedNode { op: node.op.name() }),
    }
}
