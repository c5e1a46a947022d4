//! Takes out nodes whose results nobody reads.

use super::{
    edit::{Edit, Verdict},
    numerics::Numerics,
    rule::{Order, Rule},
    site::Site,
};
use crate::graph::NodeId;

pub(super) const RULE: Rule = Rule {
    name: "dead",
    about: "takes out nodes whose results are neither read nor taken by the caller",
    numerics: Numerics::Exact,
    order: Order::Backward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let seen = |&tensor: &_| site.goes_out(tensor) || !site.readers(tensor).is_empty();
    let dead = !site.node(id).outputs.iter().any(seen);
    Ok(dead.then(|| Edit::default().take_out(id)))
}
