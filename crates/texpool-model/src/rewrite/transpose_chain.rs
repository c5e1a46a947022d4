//! Merges two consecutive transposes into one.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{Node, NodeId, Op, Transpose};

pub(super) const RULE: Rule = Rule {
    name: "transpose-chain",
    about: "merges two consecutive transposes",
    numerics: Numerics::Exact,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let (&Op::Transpose(Transpose { perm: then }), &[between, ..]) = (&node.op, &node.inputs[..]) else {
        return Ok(None);
    };
    let Some(first) = ctx.producer(between) else { return Ok(None) };
    let first_node = ctx.node(first);
    let (&Op::Transpose(Transpose { perm }), &[from, ..]) = (&first_node.op, &first_node.inputs[..]) else {
        return Ok(None);
    };
    if !first_node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: first_node.op.name() });
    }
    ctx.check_one_use(between)?;
    // Axis `i` of the result is axis `then[i]` of the intermediate tensor, which is axis `perm[then[i]]` of the
    // operand.
    let op = Op::Transpose(Transpose { perm: then.map(|axis| perm[axis]) });
    let whole = Node { op, inputs: vec![from], op_index: first_node.op_index, ..node.clone() };
    Ok(Some(Edit::default().remove(first).replace(id, whole)))
}
