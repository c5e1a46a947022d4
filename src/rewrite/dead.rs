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
    let result = site.node(id).output;
    let dead = !site.goes_out(result) && site.readers(result).is_empty();
    Ok(dead.then(|| Edit::default().take_out(id)))
}
