//! Computes once what several nodes compute of the same operands.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use crate::graph::{Node, NodeId};

pub(super) const RULE: Rule = Rule {
    name: "common-subexpression",
    about: "lets nodes that compute the same of the same operands share one result",
    // Attributes that are zeros of different sign count as equal.
    numerics: Numerics::SignedZero,
    order: Order::Forward,
    propose,
};

/// Most readers of an operand that are compared with a node. A file may let a million nodes read one tensor, and each
/// would else be compared with all others; in the networks of the catalogue no tensor has more than a few dozen.
const MOST_READERS: usize = 64;

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    // Nodes that compute the same read the same, so all are among the readers of one operand; constants may have too
    // many.
    let Some(operand) = node.operands().find(|&tensor| !ctx.graph.is_constant(tensor)) else { return Ok(None) };
    // The earlier one's result is there wherever that of the later one was read.
    let earlier = |&&other: &&NodeId| other < id && computes_the_same(ctx, ctx.node(other), node);
    let Some(&other) = ctx.readers(operand).iter().take(MOST_READERS).find(earlier) else { return Ok(None) };
    if ctx.is_output(node.output) {
        return Err(SkipReason::IsOutput { tensor: ctx.name(node.output) });
    }
    Ok(Some(Edit::default().remove(id).replace_uses(node.output, ctx.node(other).output)))
}

fn computes_the_same(ctx: &RewriteContext, a: &Node, b: &Node) -> bool {
    // A reshape, and others, say by their result what they make of the operands.
    let shapes = [a, b].map(|node| ctx.graph.shape(node.output));
    shapes[0] == shapes[1] && a.op == b.op && a.inputs == b.inputs && a.epilogue == b.epilogue
}
