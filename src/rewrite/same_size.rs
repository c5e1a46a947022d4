//! Takes out resizes by parts that leave the size as it is.

use super::{
    edit::{Edit, Verdict},
    identity::passed,
    numerics::Numerics,
    rule::{Order, Rule},
    site::Site,
};
use crate::graph::{NodeId, Op, ResizeMode};

pub(super) const RULE: Rule = Rule {
    name: "same-size",
    about: "takes out linear resizes to the size that there is: each pixel is itself, and no part of its neighbours",
    // No part of an infinity is no number.
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    match (&node.op, &node.inputs[..]) {
        (Op::Resize(resize), &[from, ..])
            if !matches!(resize.mode, ResizeMode::Nearest(_)) && resize.follows_tensorflow() =>
        {
            passed(site, id, from)
        }
        _ => Ok(None::<Edit>),
    }
}
