//! Moves sums, products and quotients with a constant per channel into the node that computes the other operand.

use super::{
    activation_sink::{ActivationSink, find_sink},
    affine::WithConstant,
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    weights::{changed, list},
};
use texpool_ops::graph::{
    Act,
    Binary::{Add, Div, Mul, Sub},
    Node, NodeId, TensorId,
};

pub(super) const RULE: Rule = Rule {
    name: "constant-epilogue",
    about: "adds, multiplies by or divides by a constant in the node that computes the other operand: scale and \
            shift of a normalization, biases of a product",
    numerics: Numerics::Exact,
    // Other rules recognise functions by these nodes, and fold constants into weights.
    order: Order::Last,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    // Checks of integer arithmetic look at nodes.
    if node.integers.is_some() {
        return Ok(None);
    }
    let Some(WithConstant { binary, from, constant, constant_first, mut values }) = WithConstant::of(ctx, node)? else {
        return Ok(None);
    };
    let act: fn(TensorId) -> Act = match (binary, constant_first) {
        (Add, _) | (Sub, false) => Act::Plus,
        (Mul, _) => Act::Times,
        (Div, false) => Act::DividedBy,
        _ => return Ok(None),
    };
    if binary == Sub {
        values.iter_mut().for_each(|value| *value = -*value);
    }
    let mut edit = Edit::default().remove(id);
    let channels = list(values.len());
    let is_changed = binary == Sub || ctx.graph.shape(constant).len() != channels.len();
    let constant = if is_changed { changed(ctx, constant, channels, &values, &mut edit)? } else { constant };
    // A function with a constant does not move through a reshape.
    let ActivationSink { place, node: fused, .. } = find_sink(ctx, from, act(constant), node.epilogue)?;
    Ok(Some(edit.replace(place, Node { output: node.output, ..fused })))
}
