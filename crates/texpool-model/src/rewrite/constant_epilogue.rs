//! Moves sums, products and quotients with a constant per channel into the node that computes the other operand.

use super::{
    activation_sink::{ActivationSink, find_sink},
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
    weights::list,
};
use texpool_ops::graph::{
    Act,
    Binary::{Add, Div, Mul, Sub},
    Constant, Node, NodeId, Op, Tensor, TensorId,
};

pub(super) const RULE: Rule = Rule {
    name: "constant-epilogue",
    about: "lets the node that computes a value add, multiply by or divide by the constant that follows: scale and \
            shift of a normalisation, biases of a product",
    numerics: Numerics::Exact,
    // Other rules recognise functions by these nodes, and fold constants into weights.
    order: Order::Last,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let (&Op::Binary(binary), &[a, b]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    let (from, constant, constant_first) = match [a, b].map(|operand| ctx.graph.is_constant(operand)) {
        [false, true] => (a, b, false),
        [true, false] => (b, a, true),
        _ => return Ok(None),
    };
    let act: fn(TensorId) -> Act = match (binary, constant_first) {
        (Add, _) | (Sub, false) => Act::Plus,
        (Mul, _) => Act::Times,
        (Div, false) => Act::DividedBy,
        _ => return Ok(None),
    };
    // Checks of integer arithmetic look at nodes.
    if node.integers.is_some() {
        return Ok(None);
    }
    let to = ctx.graph.shape(node.output);
    if ctx.graph.shape(from) != to {
        return Err(SkipReason::ShapeMismatch { tensor: ctx.name(from) });
    }
    let values = ctx.per_channel(constant, to.c)?;
    let mut edit = Edit::default().remove(id);
    let has_all = ctx.graph.shape(constant).len() == to.c;
    let constant = if has_all && binary != Sub {
        constant
    } else {
        ctx.charge_created(values.len())?;
        let values: Vec<f32> = if binary == Sub { values.iter().map(|value| -value).collect() } else { values };
        let shape = list(values.len());
        let (dims, stored) = (vec![values.len()], Some(Constant::from_f32(&values)));
        edit.add(&ctx.graph, Tensor { dims, constant: stored, ..Tensor::new(ctx.name(constant), shape) })
    };
    let ActivationSink { place, node: fused, .. } = find_sink(ctx, from, act(constant), node.epilogue)?;
    Ok(Some(edit.replace(place, Node { output: node.output, ..fused })))
}
