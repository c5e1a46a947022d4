//! Constants read and replaced by rules that fold something into them.

use std::borrow::Cow;

use super::{edit::Edit, site::Site, skip_reason::SkipReason};
use crate::graph::{Constant, Node, Shape, Tensor, TensorId};

pub(super) fn values(site: &Site, tensor: TensorId) -> Result<Cow<'_, [f32]>, SkipReason> {
    let constant = site.graph.tensors[tensor].constant.as_ref();
    let constant = constant.ok_or_else(|| SkipReason::NotConstant { tensor: site.name(tensor) })?;
    site.look_at(constant.len())?;
    Ok(constant.to_f32())
}

/// Adds a constant of other values in the place of `old`, which others may read too.
pub(super) fn changed(
    site: &Site,
    old: TensorId,
    shape: Shape,
    values: &[f32],
    edit: &mut Edit,
) -> Result<TensorId, SkipReason> {
    let name = site.name(old);
    site.make(values.len())?;
    if values.iter().any(|value| !value.is_finite()) {
        return Err(SkipReason::NotFinite { tensor: name });
    }
    let dims = match site.graph.shape(old) == shape {
        true => site.graph.tensors[old].dims.clone(),
        false => vec![values.len()],
    };
    let constant = Some(Constant::from_f32(values));
    Ok(edit.add(&site.graph, Tensor { name, shape, dims, host_permutation: Default::default(), constant }))
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
        _ => Err(SkipReason::Neighbour { op: node.op.name() }),
    }
}
