//! Moves the addition of two computed tensors into the node that computes one of them.

use super::{
    edit::{Edit, Verdict},
    epilogue::{join, takes_addend},
    numerics::Numerics,
    rule::{Order, Rule},
    site::Site,
    skip_reason::SkipReason,
};
use crate::graph::{Act, Binary, Epilogue, Node, NodeId, Op, Pad, PadMode, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "residual",
    about: "lets a convolution or fully connected node add the other operand of the addition that follows, zeros put \
            behind that operand's last channel left out",
    numerics: Numerics::SignedZero,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let (Op::Binary(Binary::Add), &[a, b]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    if site.graph.is_constant(a) || site.graph.is_constant(b) {
        return Ok(None);
    }
    // The operand computed last comes first: the other is there when it is.
    let [first, second] = if site.maker(a) > site.maker(b) { [(a, b), (b, a)] } else { [(b, a), (a, b)] };
    match add_in(site, id, first) {
        Err(why) => add_in(site, id, second).map(Some).map_err(|_| why),
        edit => edit.map(Some),
    }
}

/// Lets the node that computes `sum` add `addend`.
fn add_in(site: &Site, id: NodeId, (sum, addend): (TensorId, TensorId)) -> Result<Edit, SkipReason> {
    let node = site.node(id);
    let to = node.output;
    let maker = site.private_maker(sum)?;
    let maker_node = site.node(maker);
    if !takes_addend(&maker_node.op) {
        return Err(SkipReason::Neighbour { op: maker_node.op.name() });
    }
    if maker_node.epilogue.add.is_some() || maker_node.epilogue.then != Act::None {
        return Err(SkipReason::EpilogueTaken { op: maker_node.op.name() });
    }
    if site.graph.shape(sum) != site.graph.shape(to) {
        return Err(SkipReason::OtherExtents { tensor: site.name(sum) });
    }
    let mut edit = Edit::default();
    let addend = match padding(site, addend) {
        Some((pad, inner)) => {
            if site.check_private(addend).is_ok() {
                edit = edit.take_out(pad);
            }
            inner
        }
        None if site.graph.shape(addend) == site.graph.shape(to) => addend,
        None => return Err(SkipReason::OtherExtents { tensor: site.name(addend) }),
    };
    let added = Epilogue { add: Some(addend), ..maker_node.epilogue };
    let epilogue = join(added, Act::None, node.epilogue).ok_or(SkipReason::EpilogueTaken { op: node.op.name() })?;
    let fused = Node { output: to, epilogue, ..maker_node.clone() };
    // Where the addend comes after the maker, the maker waits: nothing but the addition reads its result.
    let (place, gone) = if site.maker(addend).is_none_or(|other| other < maker) { (maker, id) } else { (id, maker) };
    Ok(edit.put(place, fused).take_out(gone))
}

/// The node that puts zeros behind the last channel of a tensor, and the tensor without them.
fn padding(site: &Site, tensor: TensorId) -> Option<(NodeId, TensorId)> {
    let maker = site.maker(tensor)?;
    let node = site.node(maker);
    match (&node.op, &node.inputs[..]) {
        (
            &Op::Pad(Pad { before: [0, 0, 0, 0], after: [0, 0, 0, more], mode: PadMode::Constant(0.0) }),
            &[inner, ..],
        ) if more >= 0 && node.epilogue.is_empty() && !site.graph.is_constant(inner) => Some((maker, inner)),
        _ => None,
    }
}
