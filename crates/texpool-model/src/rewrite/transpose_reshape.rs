//! Turns a transpose that only moves axes of one element into a reshape, which other rules handle.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    identity::keeps_order,
    numerics::Numerics,
    rule::{Order, Rule},
};
use texpool_ops::graph::{Node, NodeId, Op, Transpose};

pub(super) const RULE: Rule = Rule {
    name: "transpose-as-reshape",
    about: "turns a transpose that keeps the order of the elements into a reshape",
    numerics: Numerics::Exact,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    match (&node.op, &node.inputs[..]) {
        (Op::Transpose(Transpose { perm }), &[from, ..]) if keeps_order(ctx.graph.shape(from).dims(), *perm) => {
            let reshape = Node { op: Op::Reshape, inputs: vec![from], ..node.clone() };
            Ok(Some(Edit::default().replace(id, reshape)))
        }
        _ => Ok(None),
    }
}
