//! Replaces selections by zeros if the constant mask selects nothing.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{Binary, Constant, NodeId, Op, Tensor};

pub(super) const RULE: Rule = Rule {
    name: "mask",
    about: "turns values that a constant mask never keeps into zeros",
    numerics: Numerics::Exact,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let (&Op::Binary(binary), &[mask, _]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    let to = node.output;
    let none = match binary {
        Binary::ZeroUnless => ctx.uniform_value(mask) == Some(0.0),
        Binary::ZeroIf => ctx.is_nonzero(mask),
        _ => false,
    };
    if !none {
        return Ok(None);
    }
    if !node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: node.op.name() });
    }
    // An output must be computed by a node, and this rule would remove it.
    if ctx.is_output(to) {
        return Err(SkipReason::IsOutput { tensor: ctx.name(to) });
    }
    // A constant of one repeated value takes no memory until its elements are read, whatever its size.
    let Some(zeros) = Constant::repeated(0.0, ctx.graph.shape(to).len()) else { return Ok(None) };
    let mut edit = Edit::default();
    let constant = Some(zeros);
    let zeros = edit.add(&ctx.graph, Tensor { constant, ..ctx.graph.tensors[to].clone() });
    Ok(Some(edit.remove(id).replace_uses(to, zeros)))
}
