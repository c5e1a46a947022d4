//! Lets a fully connected node read its operand as it lies: it goes by dense order anyway.

use super::{
    edit::{Edit, Verdict},
    numerics::Numerics,
    rule::{Order, Rule},
    site::Site,
    skip_reason::SkipReason,
};
use crate::graph::{Node, NodeId, Op};

pub(super) const RULE: Rule = Rule {
    name: "flatten",
    about: "lets a fully connected node read the operand of a reshape that could be no view",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    look,
};

/// Rows of values up to which the kernel that goes by dense order is no slower than a reshape and a convolution of pixels:
/// for the 128 of MiniLM's attention it is six times slower on lavapipe.
const FEW: usize = 2;

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let (Op::FullyConnected, &[flat, weights, ..]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    let Some(reshape) = site.maker(flat) else { return Ok(None) };
    let reshape_node = site.node(reshape);
    let (Op::Reshape, &[from, ..]) = (&reshape_node.op, &reshape_node.inputs[..]) else { return Ok(None) };
    if site.could_be_view(reshape_node) {
        return Ok(None);
    }
    if !reshape_node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: reshape_node.op.name() });
    }
    let [from_shape, weights, flat_shape] = [from, weights, flat].map(|tensor| site.graph.shape(tensor));
    let rows = flat_shape.len() / weights.c.max(1);
    if rows > FEW && flat_shape.c == weights.c && from_shape.c != weights.c {
        return Err(SkipReason::SeveralRows);
    }
    site.check_private(flat)?;
    let mut fused = Node { ..node.clone() };
    fused.inputs[0] = from;
    Ok(Some(Edit::default().put(id, fused).take_out(reshape)))
}
