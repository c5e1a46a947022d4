//! Reads and replaces constants for rules that fold something into them.

use std::borrow::Cow;

use super::{context::RewriteContext, edit::Edit, skip_reason::SkipReason};
use texpool_ops::graph::{Constant, Node, Shape, Tensor, TensorId};

pub(super) fn values(ctx: &RewriteContext, tensor: TensorId) -> Result<Cow<'_, [f32]>, SkipReason> {
    let constant = ctx.graph.tensors[tensor].constant.as_ref();
    let constant = constant.ok_or_else(|| SkipReason::NotConstant { tensor: ctx.name(tensor) })?;
    ctx.charge_read(constant.len())?;
    Ok(constant.to_f32())
}

/// Adds a constant with the given values as a replacement for `old`. The old one stays, because other nodes may read
/// it.
pub(super) fn changed(
    ctx: &RewriteContext,
    old: TensorId,
    shape: Shape,
    values: &[f32],
    edit: &mut Edit,
) -> Result<TensorId, SkipReason> {
    let name = ctx.name(old);
    ctx.charge_created(values.len())?;
    // The folded constant may overflow even though the file's nodes stay finite.
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

/// Adds a constant with the elements of `whole` from `first` on. Copies nothing.
pub(super) fn part(
    ctx: &RewriteContext,
    whole: TensorId,
    first: usize,
    shape: Shape,
    edit: &mut Edit,
) -> Result<TensorId, SkipReason> {
    let refused = || SkipReason::NotConstant { tensor: ctx.name(whole) };
    // A list of scales would have to be divided, too.
    let constant = ctx.graph.tensors[whole].constant.as_ref().filter(|constant| constant.scale.is_none());
    let constant = constant.ok_or_else(refused)?;
    let size = constant.dtype.size();
    let bytes = constant.bytes.part(first * size..(first + shape.len()) * size).ok_or_else(refused)?;
    let constant = Some(Constant { bytes, ..constant.clone() });
    let dims = vec![shape.len()];
    Ok(edit.add(&ctx.graph, Tensor { dims, constant, ..Tensor::new(ctx.name(whole), shape) }))
}

/// Shape of a list with one value per channel.
pub(super) const fn list(len: usize) -> Shape {
    Shape { b: 1, h: 1, w: 1, c: len }
}

/// Returns the weights of a node, and its bias, if any.
pub(super) fn weights_and_bias(node: &Node) -> Result<(TensorId, Option<TensorId>), SkipReason> {
    match node.inputs[..] {
        [_, weights] => Ok((weights, None)),
        [_, weights, bias] => Ok((weights, Some(bias))),
        _ => Err(SkipReason::UnsupportedNode { op: node.op.name() }),
    }
}
