//! Finds the node whose epilogue can take over an activation: the producer of the value, or the node before a reshape
//! of it. Shared by several rules.

use super::{context::RewriteContext, epilogue::join, skip_reason::SkipReason};
use texpool_ops::graph::{Act, Epilogue, Node, NodeId, Op, TensorId};

/// The node that takes over an activation, with its new epilogue. Its result keeps its id.
pub(super) struct ActivationSink {
    pub(super) place: NodeId,
    pub(super) node: Node,
    /// The reshape, or other node that only moves all elements, between the node and the value, if any.
    pub(super) reshape: Option<NodeId>,
}

/// Finds a node that can apply `act` and then `after` to `tensor`. The tensor must have no other reader.
pub(super) fn find_sink(
    ctx: &RewriteContext,
    tensor: TensorId,
    act: Act,
    after: Epilogue,
) -> Result<ActivationSink, SkipReason> {
    let producer = ctx.one_use_producer(tensor)?;
    let producer_node = ctx.node(producer);
    // Tries to move through a reshape first: a reshape with an epilogue would not be a view and would need a step.
    if let (Op::Reshape | Op::DepthToSpace(_) | Op::SpaceToDepth(_), true, true) =
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

/// Returns whether the functions treat all elements equally, so that they commute with a reshape. Functions with
/// a constant do not, because its values differ per channel.
fn alike_everywhere(act: Act, after: Epilogue) -> bool {
    let alike = |act: Act| act.constant().is_none();
    after.add.is_none() && [act, after.first, after.then].into_iter().all(alike)
}

/// Returns the node that computes `tensor`, with the activation and `after` added to its epilogue.
fn fused(ctx: &RewriteContext, tensor: TensorId, act: Act, after: Epilogue) -> Result<(NodeId, Node), SkipReason> {
    let producer = ctx.one_use_producer(tensor)?;
    let node = ctx.node(producer);
    let epilogue = join(node.epilogue, act, after).ok_or(SkipReason::EpilogueTaken { op: node.op.name() })?;
    Ok((producer, Node { epilogue, ..node.clone() }))
}
