//! Makes one transpose of two.

use super::{
    edit::{Edit, Verdict},
    numerics::Numerics,
    rule::{Order, Rule},
    site::Site,
    skip_reason::SkipReason,
};
use crate::graph::{Node, NodeId, Op, Transpose};

pub(super) const RULE: Rule = Rule {
    name: "transpose-chain",
    about: "makes one transpose of two that follow each other",
    numerics: Numerics::Exact,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let (&Op::Transpose(Transpose { perm: then }), &[between, ..]) = (&node.op, &node.inputs[..]) else {
        return Ok(None);
    };
    let Some(first) = site.maker(between) else { return Ok(None) };
    let first_node = site.node(first);
    let (&Op::Transpose(Transpose { perm }), &[from, ..]) = (&first_node.op, &first_node.inputs[..]) else {
        return Ok(None);
    };
    if !first_node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: first_node.op.name() });
    }
    site.check_private(between)?;
    let op = Op::Transpose(Transpose { perm: then.map(|axis| perm[axis]) });
    let whole = Node { op, inputs: vec![from], op_index: first_node.op_index, ..node.clone() };
    Ok(Some(Edit::default().take_out(first).put(id, whole)))
}
