//! Moves what is done to a concatenation into the nodes that compute its parts.

use super::{
    activation_sink::{ActivationSink, find_sink},
    edit::{Edit, Verdict},
    numerics::Numerics,
    rule::{Order, Rule},
    site::Site,
    skip_reason::SkipReason,
    weights::{list, values},
};
use crate::graph::{Act, Concat, Constant, Epilogue, Node, NodeId, Op, Tensor};

pub(super) const RULE: Rule = Rule {
    name: "concat-activation",
    about: "lets the nodes that compute the parts of a concatenation apply its activations, each to its own, also \
            through reshapes between them: the concatenation is left as nothing but a place for its parts",
    numerics: Numerics::Exact,
    order: Order::Backward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let &Op::Concat(Concat { axis }) = &node.op else { return Ok(None) };
    if node.epilogue.is_empty() {
        return Ok(None);
    }
    if node.epilogue.add.is_some() {
        return Err(SkipReason::EpilogueTaken { op: node.op.name() });
    }
    let mut edit = Edit::default().put(id, Node { epilogue: Epilogue::default(), ..node.clone() });
    let mut begin = 0;
    for &part in &node.inputs {
        if site.graph.is_constant(part) {
            return Err(SkipReason::IsConstant { tensor: site.name(part) });
        }
        let channels = site.graph.shape(part).c;
        let mut own = |act| match axis {
            3 => of_channels(site, act, [begin, begin + channels], &mut edit),
            _ => Ok(act),
        };
        let acts = Epilogue { first: own(node.epilogue.first)?, add: None, then: own(node.epilogue.then)? };
        let ActivationSink { place, node: fused, .. } = find_sink(site, part, Act::None, acts)?;
        edit = edit.put(place, fused);
        begin += channels;
    }
    Ok(Some(edit))
}

/// What an activation is to some of its channels: those from the first on, up to the second.
fn of_channels(site: &Site, act: Act, [first, end]: [usize; 2], edit: &mut Edit) -> Result<Act, SkipReason> {
    let Act::Prelu(alphas) = act else { return Ok(act) };
    let values = values(site, alphas)?;
    let name = site.name(alphas);
    let Some(own) = values.get(first..end) else { return Err(SkipReason::NotPerChannel { tensor: name }) };
    site.make(own.len())?;
    let shape = list(own.len());
    let constant = Some(Constant::from_f32(own));
    let tensor = Tensor { name, shape, dims: vec![own.len()], host_permutation: Default::default(), constant };
    Ok(Act::Prelu(edit.add(&site.graph, tensor)))
}
