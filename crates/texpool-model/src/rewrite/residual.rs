//! Moves the addition of two computed tensors into the node that computes one of them.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    epilogue::{join, takes_addend},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{Act, Binary, Epilogue, Node, NodeId, Op, Pad, PadMode, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "residual",
    about: "adds the other operand of an addition in the layer that computes the first one; zeros behind the last \
            channel are left out",
    numerics: Numerics::SignedZero,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let (Op::Binary(Binary::Add), &[a, b]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    if ctx.graph.is_constant(a) || ctx.graph.is_constant(b) {
        return Ok(None);
    }
    // Tries the operand computed last first, because the other one is already available at that point.
    let [first, second] = if ctx.producer(a) > ctx.producer(b) { [(a, b), (b, a)] } else { [(b, a), (a, b)] };
    match add_in(ctx, id, first) {
        Err(why) => add_in(ctx, id, second).map(Some).map_err(|_| why),
        edit => edit.map(Some),
    }
}

/// Lets the node that computes `sum` add `addend`.
fn add_in(ctx: &RewriteContext, id: NodeId, (sum, addend): (TensorId, TensorId)) -> Result<Edit, SkipReason> {
    let node = ctx.node(id);
    let to = node.output;
    let producer = ctx.one_use_producer(sum)?;
    let producer_node = ctx.node(producer);
    if !takes_addend(&producer_node.op) {
        return Err(SkipReason::UnsupportedNode { op: producer_node.op.name() });
    }
    if producer_node.epilogue.add.is_some() || producer_node.epilogue.then != Act::None {
        return Err(SkipReason::EpilogueTaken { op: producer_node.op.name() });
    }
    if ctx.graph.shape(sum) != ctx.graph.shape(to) {
        return Err(SkipReason::ShapeMismatch { tensor: ctx.name(sum) });
    }
    let mut edit = Edit::default();
    let addend = match padding(ctx, addend) {
        Some((pad, inner)) => {
            // The padded tensor may have other readers.
            if ctx.check_one_use(addend).is_ok() {
                edit = edit.remove(pad);
            }
            inner
        }
        None if ctx.graph.shape(addend) == ctx.graph.shape(to) => addend,
        None => return Err(SkipReason::ShapeMismatch { tensor: ctx.name(addend) }),
    };
    let producer_epilogue = Epilogue { add: Some(addend), ..producer_node.epilogue };
    let epilogue =
        join(producer_epilogue, Act::None, node.epilogue).ok_or(SkipReason::EpilogueTaken { op: node.op.name() })?;
    let fused = Node { output: to, epilogue, ..producer_node.clone() };
    // If the addend is computed after the producer, the fused node takes the place of the addition. This is safe
    // because the addition is the only reader of the producer's result.
    let (place, removed) =
        if ctx.producer(addend).is_none_or(|other| other < producer) { (producer, id) } else { (id, producer) };
    Ok(edit.replace(place, fused).remove(removed))
}

/// Returns the node that appends zero channels to a tensor, and the tensor without them.
fn padding(ctx: &RewriteContext, tensor: TensorId) -> Option<(NodeId, TensorId)> {
    let producer = ctx.producer(tensor)?;
    let node = ctx.node(producer);
    match (&node.op, &node.inputs[..]) {
        (
            &Op::Pad(Pad { before: [0, 0, 0, 0], after: [0, 0, 0, more], mode: PadMode::Constant(0.0) }),
            &[inner, ..],
        ) if more >= 0 && node.epilogue.is_empty() && !ctx.graph.is_constant(inner) => Some((producer, inner)),
        _ => None,
    }
}
