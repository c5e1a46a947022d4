//! Removes nodes whose results are never read.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
};
use texpool_ops::graph::NodeId;

pub(super) const RULE: Rule = Rule {
    name: "dead",
    about: "removes nodes whose results nothing reads",
    numerics: Numerics::Exact,
    // Backward: readers come after the node that they read, so a whole chain of dead nodes is removed in one sweep.
    order: Order::Backward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let result = ctx.node(id).output;
    let dead = !ctx.is_output(result) && ctx.readers(result).is_empty();
    Ok(dead.then(|| Edit::default().remove(id)))
}
