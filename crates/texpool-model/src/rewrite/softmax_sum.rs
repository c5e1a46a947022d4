//! Moves an addition into the softmax that reads it.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    epilogue::plain,
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{Binary, Node, NodeId, Op, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "softmax-sum",
    about: "adds the mask or the bias of an attention in the softmax that reads the sum",
    numerics: Numerics::Exact,
    // The addition next to the softmax comes first, then the one before it.
    order: Order::Backward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let (Op::Binary(Binary::Add), &[a, b]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    let sum = node.output;
    let Some(&reader) = ctx.readers(sum).first() else { return Ok(None) };
    let softmax = ctx.node(reader);
    // Checks of integer arithmetic look at nodes.
    let is_first = matches!(softmax.op, Op::Softmax(_)) && softmax.inputs.first() == Some(&sum);
    if !is_first || node.integers.is_some() || softmax.integers.is_some() {
        return Ok(None);
    }
    plain(node)?;
    ctx.check_one_use(sum)?;
    let of = |x: TensorId| ctx.graph.shape(x);
    // The operand is as large as the sum, and the other one has as many channels.
    let fits =
        |x: TensorId, addend: TensorId| !ctx.graph.is_constant(x) && of(x) == of(sum) && of(addend).c == of(sum).c;
    let (x, addend) = match (fits(a, b), fits(b, a)) {
        (true, _) => (a, b),
        (_, true) => (b, a),
        _ => return Err(SkipReason::ShapeMismatch { tensor: ctx.name(b) }),
    };
    let addends = || softmax.inputs[1..].iter().chain([&addend]);
    // A step reads two computed tensors at most.
    let computed = addends().chain(&softmax.epilogue.add).filter(|&&tensor| !ctx.graph.is_constant(tensor)).count();
    if addends().count() > 2 || computed > 1 {
        return Err(SkipReason::UnsupportedNode { op: softmax.op.name() });
    }
    let inputs = [x, addend].into_iter().chain(softmax.inputs[1..].iter().copied()).collect();
    Ok(Some(Edit::default().replace(reader, Node { inputs, ..softmax.clone() }).remove(id)))
}
