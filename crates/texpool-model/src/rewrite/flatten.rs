//! Lets a fully connected node read the operand of a reshape directly, since its kernel reads elements in dense order
//! anyway.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{Node, NodeId, Op};

pub(super) const RULE: Rule = Rule {
    name: "flatten",
    about: "lets a fully connected layer read the operand of a reshape that moves texels",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

/// Maximum number of rows for which reading in dense order is not slower than a reshape followed by a convolution of
/// pixels. For the 128 rows of MiniLM's attention a layer took 4.6 ms instead of 0.7 on lavapipe (the steps of
/// `texpool bench minilm`). The limit itself is chosen, not tuned: classifiers have one or two rows.
const MAX_DENSE_ROWS: usize = 2;

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let (Op::FullyConnected, &[flat, weights, ..]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    let Some(reshape) = ctx.producer(flat) else { return Ok(None) };
    let reshape_node = ctx.node(reshape);
    let (Op::Reshape, &[from, ..]) = (&reshape_node.op, &reshape_node.inputs[..]) else { return Ok(None) };
    // A view takes no step, so removing it saves nothing.
    if ctx.could_be_view(reshape_node) {
        return Ok(None);
    }
    if !reshape_node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: reshape_node.op.name() });
    }
    let [from_shape, weights, flat_shape] = [from, weights, flat].map(|tensor| ctx.graph.shape(tensor));
    let rows = flat_shape.len() / weights.c.max(1);
    // If its rows are the pixels of its operand, the layer runs as a convolution of pixels. That holds now, but would
    // not hold without the reshape.
    if rows > MAX_DENSE_ROWS && flat_shape.c == weights.c && from_shape.c != weights.c {
        return Err(SkipReason::SeveralRows);
    }
    ctx.check_one_use(flat)?;
    let mut fused = Node { ..node.clone() };
    fused.inputs[0] = from;
    Ok(Some(Edit::default().replace(id, fused).remove(reshape)))
}
