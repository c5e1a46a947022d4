//! Moves activations into the node that computes what they are applied to.

use super::{
    activation_sink::{ActivationSink, find_sink},
    edit::{Edit, Verdict},
    numerics::Numerics,
    rule::{Order, Rule},
    site::Site,
    skip_reason::SkipReason,
};
use crate::{
    graph::{Act, Node, NodeId, Op, TensorId, Unary},
    kernels::fits_epilogue,
};

pub(super) const RULE: Rule = Rule {
    name: "activation",
    about: "lets the node that computes a value apply the activation that follows, also through a reshape between them",
    numerics: Numerics::Exact,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let (&[from, ..], to) = (&node.inputs[..], node.output) else { return Ok(None) };
    let act = match node.op {
        Op::Unary(unary) if fits_epilogue(unary) => Act::Unary(unary),
        Op::Prelu => prelu(site, node, to)?,
        _ => return Ok(None),
    };
    if site.graph.shape(from) != site.graph.shape(to) {
        return Err(SkipReason::OtherExtents { tensor: site.name(from) });
    }
    let ActivationSink { place, node: fused, reshape } = find_sink(site, from, act, node.epilogue)?;
    let edit = Edit::default().take_out(id);
    Ok(Some(match reshape {
        Some(reshape) => {
            let renamed = Node { output: to, ..site.node(reshape).clone() };
            edit.put(place, fused).put(reshape, renamed)
        }
        None => edit.put(place, Node { output: to, ..fused }),
    }))
}

/// The activation that a PRELU node is: one alpha a channel, or one for all.
fn prelu(site: &Site, node: &Node, to: TensorId) -> Result<Act, SkipReason> {
    let &[_, alpha, ..] = &node.inputs[..] else { return Ok(Act::None) };
    let alphas = site.per_channel(alpha, site.graph.shape(to).c)?;
    match (site.graph.tensors[alpha].constant.as_ref(), &alphas[..]) {
        (Some(one), &[alpha, ..]) if one.len() == 1 => Ok(Act::Unary(Unary::LeakyRelu { alpha })),
        _ => Ok(Act::Prelu(alpha)),
    }
}
