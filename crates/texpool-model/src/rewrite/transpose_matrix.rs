//! Lets a matrix product read its second matrix as it is, instead of a transposed copy.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{MatMul, Node, NodeId, Op, Transpose};

pub(super) const RULE: Rule = Rule {
    name: "transposed-matrix",
    about: "reads the second matrix of a product directly instead of a transposed copy, such as the keys of an \
            attention",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let (&Op::MatMul(MatMul { transpose_b }), &[a, b]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    let Some(transpose) = ctx.producer(b) else { return Ok(None) };
    let transpose_node = ctx.node(transpose);
    let (Op::Transpose(Transpose { perm: [0, 1, 3, 2] }), &[from, ..]) =
        (&transpose_node.op, &transpose_node.inputs[..])
    else {
        return Ok(None);
    };
    if !transpose_node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: transpose_node.op.name() });
    }
    ctx.check_one_use(b)?;
    let op = MatMul { transpose_b: !transpose_b }.into();
    let product = Node { op, inputs: vec![a, from], ..node.clone() };
    Ok(Some(Edit::default().remove(transpose).replace(id, product)))
}
