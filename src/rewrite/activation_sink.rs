//! The node whose epilogue takes over an activation: the one that computes the value, or the one before a reshape of
//! it. What several rules have in common.

use super::{context::RewriteContext, epilogue::join, skip_reason::SkipReason};
use crate::graph::{Act, Epilogue, Node, NodeId, Op, TensorId};

/// The node that takes an activation over, with its new epilogue; its result keeps its id.
pub(super) struct ActivationSink {
    pub(super) place: NodeId,
    pub(super) node: Node,
    /// The reshape between it and the value, if there is one.
    pub(super) reshape: Option<NodeId>,
}

/// The node that does to `tensor`, which nobody else sees, what `act` and then `after` do.
pub(super) fn find_sink(
    ctx: &RewriteContext,
    tensor: TensorId,
    act: Act,
    after: Epilogue,
) -> Result<ActivationSink, SkipReason> {
    let producer = ctx.one_use_producer(tensor)?;
    let producer_node = ctx.node(producer);
    // Through a reshape first: with an epilogue of its own it would be no view, and take a step.
    if let (Op::Reshape, true, true) =
        (&producer_node.op, producer_node.epilogue.is_empty(), alike_everywhere(act, after))
    {
        let before = producer_node.inputs.first().map(|&operand| fused(ctx, operand, act, after));
        if let Some(Ok((place, node))) = before {
            return Ok(ActivationSink { place, node, reshape: Some(producer) });
        }
        if ctx.could_be_view(producer_node) {
            return Err(SkipReason::BreaksView);
        }
    }
    let (place, node) = fused(ctx, tensor, act, after)?;
    Ok(ActivationSink { place, node, reshape: None })
}

/// Whether a function does the same to every element, so that it commutes with a reshape: one alpha a channel does not.
fn alike_everywhere(act: Act, after: Epilogue) -> bool {
    let alike = |act| !matches!(act, Act::Prelu(_));
    after.add.is_none() && [act, after.first, after.then].into_iter().all(alike)
}

/// The node that computes `tensor`, with the activation and what follows it added.
fn fused(ctx: &RewriteContext, tensor: TensorId, act: Act, after: Epilogue) -> Result<(NodeId, Node), SkipReason> {
    let producer = ctx.one_use_producer(tensor)?;
    let node = ctx.node(producer);
    let epilogue = join(node.epilogue, act, after).ok_or(SkipReason::EpilogueTaken { op: node.op.name() })?;
    Ok((producer, Node { epilogue, ..node.clone() }))
}
