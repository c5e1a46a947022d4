//! Who takes over an activation: the node that computes a value, or the one before a reshape of it. Knows no rule.

use super::{epilogue::join, site::Site, skip_reason::SkipReason};
use crate::graph::{Act, Epilogue, Node, NodeId, Op, TensorId};

/// The node that takes over, and what it is then; its result keeps its id.
pub(super) struct ActivationSink {
    pub(super) place: NodeId,
    pub(super) node: Node,
    /// The reshape between it and the value, if there is one.
    pub(super) reshape: Option<NodeId>,
}

/// The node that does to `tensor`, which nobody else sees, what `act` and then `after` do.
pub(super) fn find_sink(
    site: &Site,
    tensor: TensorId,
    act: Act,
    after: Epilogue,
) -> Result<ActivationSink, SkipReason> {
    let maker = site.private_maker(tensor)?;
    let maker_node = site.node(maker);
    if let (Op::Reshape, true, true) = (&maker_node.op, maker_node.epilogue.is_empty(), alike_everywhere(act, after)) {
        let before = maker_node.inputs.first().map(|&operand| fused(site, operand, act, after));
        if let Some(Ok((place, node))) = before {
            return Ok(ActivationSink { place, node, reshape: Some(maker) });
        }
        if site.could_be_view(maker_node) {
            return Err(SkipReason::SpoilsView);
        }
    }
    let (place, node) = fused(site, tensor, act, after)?;
    Ok(ActivationSink { place, node, reshape: None })
}

/// Whether the same is done to every element, whatever the extents.
fn alike_everywhere(act: Act, after: Epilogue) -> bool {
    let alike = |act| !matches!(act, Act::Prelu(_));
    after.add.is_none() && [act, after.first, after.then].into_iter().all(alike)
}

/// The node that computes `tensor`, with the activation and what follows it added.
fn fused(site: &Site, tensor: TensorId, act: Act, after: Epilogue) -> Result<(NodeId, Node), SkipReason> {
    let maker = site.private_maker(tensor)?;
    let node = site.node(maker);
    let epilogue = join(node.epilogue, act, after).ok_or(SkipReason::EpilogueTaken { op: node.op.name() })?;
    Ok((maker, Node { epilogue, ..node.clone() }))
}
