//! Moves the epilogue of a concatenation into the nodes that compute its parts.

use super::{
    activation_sink::{ActivationSink, find_sink},
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
    weights::{changed, list, values},
};
use texpool_ops::graph::{Act, Concat, Epilogue, Node, NodeId, Op, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "concat-activation",
    about: "applies the activations of a concatenation in the nodes that compute its parts, also through reshapes, \
            so that it only joins them",
    numerics: Numerics::Exact,
    // The outer of two nested concatenations comes first. The inner one then passes the activations on in the same
    // sweep.
    order: Order::Backward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let &Op::Concat(Concat { axis }) = &node.op else { return Ok(None) };
    if node.epilogue.is_empty() {
        return Ok(None);
    }
    // A tensor added to the whole would first have to be split into parts.
    if node.epilogue.add.is_some() {
        return Err(SkipReason::EpilogueTaken { op: node.op.name() });
    }
    let mut edit = Edit::default().replace(id, Node { epilogue: Epilogue::default(), ..node.clone() });
    let mut begin = 0;
    for &part in &node.inputs {
        if ctx.graph.is_constant(part) {
            return Err(SkipReason::IsConstant { tensor: ctx.name(part) });
        }
        let channels = ctx.graph.shape(part).c;
        let mut own = |act| match axis {
            3 => of_channels(ctx, act, [begin, begin + channels], &mut edit),
            _ => Ok(act),
        };
        let acts = Epilogue { first: own(node.epilogue.first)?, add: None, then: own(node.epilogue.then)? };
        let ActivationSink { place, node: fused, .. } = find_sink(ctx, part, Act::None, acts)?;
        edit = edit.replace(place, fused);
        begin += channels;
    }
    Ok(Some(edit))
}

/// Restricts an activation to channels `first..end`. Selects their values of a constant.
fn of_channels(ctx: &RewriteContext, act: Act, [first, end]: [usize; 2], edit: &mut Edit) -> Result<Act, SkipReason> {
    let (with, constant): (fn(TensorId) -> Act, TensorId) = match act {
        Act::Prelu(constant) => (Act::Prelu, constant),
        Act::Plus(constant) => (Act::Plus, constant),
        Act::Times(constant) => (Act::Times, constant),
        Act::DividedBy(constant) => (Act::DividedBy, constant),
        Act::Requantize(_) => return Err(SkipReason::EpilogueTaken { op: "CONCATENATION" }),
        Act::None | Act::Unary(_) => return Ok(act),
    };
    let values = values(ctx, constant)?;
    let own = values.get(first..end);
    let own = own.ok_or_else(|| SkipReason::NotPerChannel { tensor: ctx.name(constant) })?;
    Ok(with(changed(ctx, constant, list(own.len()), own, edit)?))
}
