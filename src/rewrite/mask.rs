//! Choices whose mask is a constant of one value.

use super::{
    edit::{Edit, Verdict},
    numerics::Numerics,
    rule::{Order, Rule},
    site::Site,
    skip_reason::SkipReason,
};
use crate::graph::{Binary, Constant, NodeId, Op, Tensor};

pub(super) const RULE: Rule = Rule {
    name: "mask",
    about: "makes what a constant mask keeps nothing of zeros",
    numerics: Numerics::Exact,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let (&Op::Binary(binary), &[mask, _]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    let to = node.output;
    let none = match binary {
        Binary::ZeroUnless => site.one_value(mask) == Some(0.0),
        Binary::ZeroIf => site.is_true(mask),
        _ => false,
    };
    if !none {
        return Ok(None);
    }
    if !node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: node.op.name() });
    }
    if site.goes_out(to) {
        return Err(SkipReason::GoesOut { tensor: site.name(to) });
    }
    // However large the result is: zeros are not written out before somebody reads them.
    let Some(zeros) = Constant::repeated(0.0, site.graph.shape(to).len()) else { return Ok(None) };
    let mut edit = Edit::default();
    let constant = Some(zeros);
    let zeros = edit.add(&site.graph, Tensor { constant, ..site.graph.tensors[to].clone() });
    Ok(Some(edit.take_out(id).read_instead(to, zeros)))
}
