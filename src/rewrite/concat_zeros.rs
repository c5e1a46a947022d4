//! Makes zeros put in front of or behind a tensor a pad of it.

use super::{
    edit::{Edit, Verdict},
    numerics::Numerics,
    rule::{Order, Rule},
    site::Site,
    skip_reason::SkipReason,
};
use crate::graph::{Concat, Node, NodeId, Op, Pad, PadMode, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "concat-zeros",
    about: "makes the concatenation of a value with constant zeros, in front of it or behind it, a pad of the value",
    numerics: Numerics::Exact,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let &Op::Concat(Concat { axis }) = &node.op else { return Ok(None) };
    let computed = |&tensor: &TensorId| !site.graph.is_constant(tensor);
    let found = node.inputs.iter().position(computed).zip(node.inputs.iter().rposition(computed));
    let Some((part, last)) = found.filter(|_| !node.inputs.iter().all(computed)) else { return Ok(None) };
    // Zeros around several values would be a step of their own, after the one that puts the values together.
    if last > part {
        return Err(SkipReason::SeveralParts);
    }
    let ends = [&node.inputs[..part], &node.inputs[part + 1..]];
    if let Some(&other) = ends.into_iter().flatten().find(|&&constant| !is_zeros(site, constant)) {
        return Err(SkipReason::NotZeros { tensor: site.name(other) });
    }
    let along = |constants: &[TensorId]| {
        let extent = constants.iter().map(|&tensor| site.graph.shape(tensor).dims()[axis]).sum::<usize>();
        let mut amounts = [0; 4];
        amounts[axis] = isize::try_from(extent).ok()?;
        Some(amounts)
    };
    let [Some(before), Some(after)] = ends.map(along) else { return Ok(None) };
    let op = Op::Pad(Pad { before, after, mode: PadMode::Constant(0.0) });
    Ok(Some(Edit::default().put(id, Node { op, inputs: vec![node.inputs[part]], ..node.clone() })))
}

/// Whether every value of a constant is the zero that a pad puts there, down to its sign.
fn is_zeros(site: &Site, tensor: TensorId) -> bool {
    let Some(constant) = &site.graph.tensors[tensor].constant else { return false };
    match constant.repeats() {
        Some(value) => value.to_bits() == 0,
        None => site.look_at(constant.len()).is_ok() && constant.to_f32().iter().all(|value| value.to_bits() == 0),
    }
}
