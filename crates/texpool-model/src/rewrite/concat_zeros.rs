//! Turns a concatenation of a tensor with zeros into a pad.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{Concat, Node, NodeId, Op, Pad, PadMode, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "concat-zeros",
    about: "turns a concatenation of a value with constant zeros, before or behind it, into a pad",
    numerics: Numerics::Exact,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let &Op::Concat(Concat { axis }) = &node.op else { return Ok(None) };
    let computed = |&tensor: &TensorId| !ctx.graph.is_constant(tensor);
    let first_and_last = node.inputs.iter().position(computed).zip(node.inputs.iter().rposition(computed));
    let Some((part, last)) = first_and_last.filter(|_| !node.inputs.iter().all(computed)) else { return Ok(None) };
    // With several computed values, the pad would need a second step after the concatenation.
    if last > part {
        return Err(SkipReason::SeveralParts);
    }
    let ends = [&node.inputs[..part], &node.inputs[part + 1..]];
    if let Some(&other) = ends.into_iter().flatten().find(|&&constant| !is_zeros(ctx, constant)) {
        return Err(SkipReason::NotZeros { tensor: ctx.name(other) });
    }
    let along = |constants: &[TensorId]| {
        let extent = constants.iter().map(|&tensor| ctx.graph.shape(tensor).dims()[axis]).sum::<usize>();
        let mut amounts = [0; 4];
        amounts[axis] = isize::try_from(extent).ok()?;
        Some(amounts)
    };
    let [Some(before), Some(after)] = ends.map(along) else { return Ok(None) };
    let op = Op::Pad(Pad { before, after, mode: PadMode::Constant(0.0) });
    Ok(Some(Edit::default().replace(id, Node { op, inputs: vec![node.inputs[part]], ..node.clone() })))
}

/// Returns whether all values of a constant are +0, the zero that a pad inserts.
fn is_zeros(ctx: &RewriteContext, tensor: TensorId) -> bool {
    let Some(constant) = &ctx.graph.tensors[tensor].constant else { return false };
    match constant.repeats() {
        Some(value) => value.to_bits() == 0,
        None => ctx.charge_read(constant.len()).is_ok() && constant.to_f32().iter().all(|value| value.to_bits() == 0),
    }
}
