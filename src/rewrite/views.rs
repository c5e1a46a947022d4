//! Views: a reshape that needs no step, because its result's texels already lie right. Knows shapes, not placements.

use super::{
    report::{Missed, Place, Report},
    site::Site,
    skip_reason::SkipReason,
};
use crate::graph::{Node, NodeSet, Op, TensorId, texels_agree};

/// What the rule is switched on and off by.
pub(super) const NAME: &str = "views";

/// Finds the reshapes that need no step: their texels agree, and no two graph inputs or outputs come to share texels.
pub(super) fn find(site: &Site, report: &mut Report) -> NodeSet {
    let graph = &site.graph;
    // The tensor at the head of each chain of views, and for each head the input or output among its views.
    let mut head: Vec<TensorId> = (0..graph.tensors.len()).collect();
    let mut external: Vec<Option<TensorId>> = vec![None; graph.tensors.len()];
    for &tensor in graph.inputs.iter().chain(&graph.outputs) {
        external[tensor] = Some(tensor);
    }
    let mut views = Vec::new();
    for (id, node) in graph.nodes.iter().enumerate() {
        let (Op::Reshape, &[from, ..], to) = (&node.op, &node.inputs[..], node.output) else { continue };
        match check(site, node, (from, to), external[head[from]]) {
            Ok(()) => {
                views.push(id);
                head[to] = head[from];
                external[head[from]] = external[head[from]].or(external[to]);
            }
            Err(why) => report.missed.push(Missed { rule: NAME, place: Place::of(graph, node), why }),
        }
    }
    views.into_iter().collect()
}

fn check(
    site: &Site,
    node: &Node,
    (from, to): (TensorId, TensorId),
    shared: Option<TensorId>,
) -> Result<(), SkipReason> {
    let (from_shape, to_shape) = (site.graph.shape(from), site.graph.shape(to));
    if !node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: node.op.name() });
    }
    if site.graph.is_constant(from) {
        return Err(SkipReason::IsConstant { tensor: site.name(from) });
    }
    if !texels_agree(from_shape, to_shape) {
        return Err(SkipReason::TexelsElsewhere { from: from_shape.to_string(), to: to_shape.to_string() });
    }
    match shared {
        Some(other) if site.goes_out(to) => {
            Err(SkipReason::MustCopy { first: site.name(other), second: site.name(to) })
        }
        _ => Ok(()),
    }
}
