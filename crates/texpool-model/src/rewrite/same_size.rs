//! Removes linear resizes that do not change the size.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    identity::bypass,
    numerics::Numerics,
    rule::{Order, Rule},
};
use texpool_ops::graph::{NodeId, Op, ResizeMode};

pub(super) const RULE: Rule = Rule {
    name: "same-size",
    about: "removes linear resizes to the same size, in which each pixel keeps its value",
    // The resize multiplies the neighbours by zero, which turns an infinity into NaN.
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    match (&node.op, &node.inputs[..]) {
        (Op::Resize(resize), &[from, ..])
            if !matches!(resize.mode, ResizeMode::Nearest(_)) && resize.follows_tensorflow() =>
        {
            bypass(ctx, id, from)
        }
        _ => Ok(None::<Edit>),
    }
}
