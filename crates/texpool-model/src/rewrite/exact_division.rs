//! Turns divisions by powers of two into multiplications, which other rules can fold and which are faster on devices.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
};
use texpool_ops::graph::{Binary, Constant, Node, NodeId, Op, Tensor};

pub(super) const RULE: Rule = Rule {
    name: "exact-division",
    about: "turns divisions by constant powers of two into multiplications by their reciprocals",
    numerics: Numerics::Exact,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let (Op::Binary(Binary::Div), &[x, by]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    let Some(constant) = &ctx.graph.tensors[by].constant else { return Ok(None) };
    ctx.charge_read(constant.len())?;
    let values = constant.to_f32();
    if !values.iter().all(|&value| is_exact(value)) {
        return Ok(None);
    }
    ctx.charge_created(values.len())?;
    let reciprocals: Vec<f32> = values.iter().map(|value| value.recip()).collect();
    let mut edit = Edit::default();
    let constant = Some(Constant::from_f32(&reciprocals));
    let by = edit.add(&ctx.graph, Tensor { constant, ..ctx.graph.tensors[by].clone() });
    Ok(Some(edit.replace(id, Node { op: Op::Binary(Binary::Mul), inputs: vec![x, by], ..node.clone() })))
}

/// Returns whether a value is a power of two whose reciprocal is exact.
fn is_exact(value: f32) -> bool {
    // The reciprocal of 2^127 is subnormal, and devices may flush that to zero.
    value.is_normal() && value.recip().is_normal() && value.to_bits().trailing_zeros() >= f32::MANTISSA_DIGITS - 1
}
