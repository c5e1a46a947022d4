//! Moves activations into the node that computes their operand.

use super::{
    activation_sink::{ActivationSink, find_sink},
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use texpool_ops::{
    graph::{Act, Node, NodeId, Op, TensorId, Unary},
    kernels::fits_epilogue,
};

pub(super) const RULE: Rule = Rule {
    name: "activation",
    about: "applies an activation in the node that computes its operand, also through a reshape between them",
    numerics: Numerics::Exact,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let (&[from, ..], to) = (&node.inputs[..], node.output) else { return Ok(None) };
    let act = match node.op {
        Op::Unary(unary) if fits_epilogue(unary) => Act::Unary(unary),
        Op::Prelu => prelu(ctx, node, to)?,
        _ => return Ok(None),
    };
    if ctx.graph.shape(from) != ctx.graph.shape(to) {
        return Err(SkipReason::ShapeMismatch { tensor: ctx.name(from) });
    }
    let ActivationSink { place, node: fused, reshape } = find_sink(ctx, from, act, node.epilogue)?;
    let edit = Edit::default().remove(id);
    Ok(Some(match reshape {
        Some(reshape) => {
            // The activation moves in front of the reshape, so the reshape now produces the activation's result.
            let renamed = Node { output: to, ..ctx.node(reshape).clone() };
            edit.replace(place, fused).replace(reshape, renamed)
        }
        None => edit.replace(place, Node { output: to, ..fused }),
    }))
}

/// Returns a PRELU node as an activation, with one alpha per channel or one for all.
fn prelu(ctx: &RewriteContext, node: &Node, to: TensorId) -> Result<Act, SkipReason> {
    let &[_, alpha, ..] = &node.inputs[..] else { return Ok(Act::None) };
    let alphas = ctx.per_channel(alpha, ctx.graph.shape(to).c)?;
    match (ctx.graph.tensors[alpha].constant.as_ref(), &alphas[..]) {
        // A single alpha needs no texels among the weights, and can be moved through a reshape.
        (Some(one), &[alpha, ..]) if one.len() == 1 => Ok(Act::Unary(Unary::LeakyRelu { alpha })),
        _ => Ok(Act::Prelu(alpha)),
    }
}
