//! Moves activations into the node that computes what they are applied to.

use super::{
    edit::{Edit, Verdict},
    rules::{Order, Rule},
    site::Site,
    tail::join,
    why_not::WhyNot,
};
use crate::graph::{Act, Node, NodeId, Op, Tail, TensorId, Unary};

pub(super) const RULE: Rule = Rule {
    name: "activation",
    about: "lets the node that computes a value apply the activation that follows, also through a reshape between them",
    bits: "the same",
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let (&[from, ..], &[to]) = (&node.inputs[..], &node.outputs[..]) else { return Ok(None) };
    let act = match node.op {
        Op::Unary(unary) if unary.fits_tails() => Act::Unary(unary),
        Op::Prelu => prelu(site, node, to)?,
        _ => return Ok(None),
    };
    if site.graph.shape(from) != site.graph.shape(to) {
        return Err(WhyNot::OtherExtents { tensor: site.name(from) });
    }
    let maker = site.private_maker(from)?;
    let maker_node = site.node(maker);
    if let (Op::Reshape, Act::Unary(_), true) = (&maker_node.op, act, maker_node.tail.is_empty())
        && alike_everywhere(node.tail)
    {
        let through = maker_node.inputs.first().map(|&operand| fused(site, operand, act, node));
        if let Some(Ok((before, fused))) = through {
            let reshape = Node { outputs: vec![to], ..maker_node.clone() };
            return Ok(Some(Edit::default().put(before, fused).put(maker, reshape).take_out(id)));
        }
        if site.could_be_view(maker_node) {
            return Err(WhyNot::SpoilsView);
        }
    }
    let (maker, fused) = fused(site, from, act, node)?;
    Ok(Some(Edit::default().put(maker, Node { outputs: vec![to], ..fused }).take_out(id)))
}

/// Whether a tail does the same to every element, whatever the extents.
fn alike_everywhere(tail: Tail) -> bool {
    let alike = |act| !matches!(act, Act::Prelu(_));
    tail.add.is_none() && alike(tail.first) && alike(tail.then)
}

/// The node that computes `tensor`, with the activation and what follows it added.
fn fused(site: &Site, tensor: TensorId, act: Act, follows: &Node) -> Result<(NodeId, Node), WhyNot> {
    let maker = site.private_maker(tensor)?;
    let node = site.node(maker);
    let tail = join(node.tail, act, follows.tail).ok_or(WhyNot::TailTaken { op: node.op.name() })?;
    Ok((maker, Node { tail, ..node.clone() }))
}

/// The activation that a PRELU node is: one alpha a channel, or one for all.
fn prelu(site: &Site, node: &Node, to: TensorId) -> Result<Act, WhyNot> {
    let &[_, alpha, ..] = &node.inputs[..] else { return Ok(Act::None) };
    let alphas = site.per_channel(alpha, site.graph.shape(to).c)?;
    match (site.graph.tensors[alpha].constant.as_ref(), &alphas[..]) {
        (Some(one), &[alpha, ..]) if one.len() == 1 => Ok(Act::Unary(Unary::LeakyRelu { alpha })),
        _ => Ok(Act::Prelu(alpha)),
    }
}
