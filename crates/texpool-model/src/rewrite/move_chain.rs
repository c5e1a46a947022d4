//! Merges chains of nodes that only move values into one copy.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
};
use texpool_ops::graph::{Node, NodeId, Op, Rearrange, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "move-chain",
    about: "merges reshapes, transposes, slices and other moves of values behind one another into one copy",
    numerics: Numerics::Exact,
    // Other rules look for these nodes, and may need no copy at all.
    order: Order::Last,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    // Runs below a bound compute parts of reshapes and transposes, but all of a copy.
    if !ctx.graph.limits.is_empty() || !moves(ctx, node) || ctx.could_be_view(node) {
        return Ok(None);
    }
    let Some(chain) = Chain::behind(ctx, id) else { return Ok(None) };
    let is_reshape = chain.copy.is_reshape_of(ctx.graph.shape(chain.from).len());
    let op = if is_reshape { Op::Reshape } else { Op::Rearrange(chain.copy) };
    let mut edit = Edit::default().replace(id, Node { op, inputs: vec![chain.from], ..node.clone() });
    for unread in chain.unread {
        edit = edit.remove(unread);
    }
    Ok(Some(edit))
}

/// Nodes that move values, the last of which is replaced.
struct Chain {
    from: TensorId,
    copy: Rearrange,
    /// Nodes that nothing else reads.
    unread: Vec<NodeId>,
}

impl Chain {
    /// Returns the longest chain that ends with a node and begins with another node that needs a step, if there is one.
    fn behind(ctx: &RewriteContext, last: NodeId) -> Option<Self> {
        let mut nodes = vec![last];
        let (mut unread, mut is_unread) = (Vec::new(), true);
        let mut best = None;
        loop {
            let between = *ctx.node(*nodes.last()?).inputs.first()?;
            let Some(first) = ctx.producer(between) else { break };
            let node = ctx.node(first);
            let readers = ctx.readers(between);
            let has_epilogue = !node.epilogue.is_empty();
            if !moves(ctx, node)
                || has_epilogue
                || ctx.is_output(between)
                || !readers.iter().all(|&id| moves(ctx, ctx.node(id)))
            {
                break;
            }
            nodes.push(first);
            is_unread &= readers.len() == 1;
            if is_unread {
                unread.push(first);
            }
            if !ctx.could_be_view(node) {
                let Some(copy) = composed(ctx, &nodes) else { break };
                best = Some(Self { from: node.inputs[0], copy, unread: unread.clone() });
            }
        }
        best
    }
}

/// Returns the copy that nodes make together, the last of them first.
fn composed(ctx: &RewriteContext, nodes: &[NodeId]) -> Option<Rearrange> {
    let from = *ctx.node(*nodes.last()?).inputs.first()?;
    let first = Rearrange::dense(ctx.graph.shape(from).len());
    nodes.iter().rev().try_fold(first, |copy, &id| copied(ctx, ctx.node(id), copy))
}

/// Returns whether a node's values are copies of its operand's. Checks of integer arithmetic look at nodes.
fn moves(ctx: &RewriteContext, node: &Node) -> bool {
    let &[from, ..] = &node.inputs[..] else { return false };
    node.integers.is_none() && copied(ctx, node, Rearrange::dense(ctx.graph.shape(from).len())).is_some()
}

/// Returns the copy that a node makes of another copy.
fn copied(ctx: &RewriteContext, node: &Node, copy: Rearrange) -> Option<Rearrange> {
    let &[from, ..] = &node.inputs[..] else { return None };
    copy.then(&node.op, ctx.graph.shape(from), ctx.graph.shape(node.output))
}
