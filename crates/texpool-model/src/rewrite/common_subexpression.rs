//! Merges nodes that compute the same function of the same operands.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{Node, NodeId};

pub(super) const RULE: Rule = Rule {
    name: "common-subexpression",
    about: "shares one result among nodes that compute the same function of the same operands",
    // Attributes that differ only in the sign of a zero count as equal.
    numerics: Numerics::SignedZero,
    order: Order::Forward,
    propose,
};

/// Limit on the readers of an operand that are compared with a node. A file may have a million nodes that read the
/// same tensor, and each would be compared with all others. In the networks of the catalogue no tensor has more than
/// a few dozen readers.
const MOST_READERS: usize = 64;

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    // Equal nodes have equal operands, so searching the readers of one operand is enough. Constants are not used for
    // this, as they may have too many readers.
    let Some(operand) = node.operands().find(|&tensor| !ctx.graph.is_constant(tensor)) else { return Ok(None) };
    // Only an earlier node will do: its result is available wherever the later result is read.
    let earlier = |&&other: &&NodeId| other < id && computes_the_same(ctx, ctx.node(other), node);
    let Some(&other) = ctx.readers(operand).iter().take(MOST_READERS).find(earlier) else { return Ok(None) };
    if ctx.is_output(node.output) {
        return Err(SkipReason::IsOutput { tensor: ctx.name(node.output) });
    }
    Ok(Some(Edit::default().remove(id).replace_uses(node.output, ctx.node(other).output)))
}

fn computes_the_same(ctx: &RewriteContext, a: &Node, b: &Node) -> bool {
    // The operator alone is not enough: a reshape, for example, is determined by the shape of its result.
    let shapes = [a, b].map(|node| ctx.graph.shape(node.output));
    shapes[0] == shapes[1] && a.op == b.op && a.inputs == b.inputs && a.epilogue == b.epilogue
}
