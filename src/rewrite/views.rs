//! Views: a reshape that needs no step, because its result's texels already lie right. Knows shapes, not placements.

use std::collections::BTreeSet;

use super::{
    report::{Missed, Place, Report},
    site::Site,
    skip_reason::SkipReason,
};
use crate::graph::{Node, NodeId, Op, Shape, TensorId};

/// What the rule is switched on and off by.
pub(super) const NAME: &str = "views";

/// Nodes that need no step: reshapes whose result shares the texels of their operand, and concatenations whose parts are
/// computed where they belong; and pads whose operand is, which have their border alone to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Views(BTreeSet<NodeId>);

impl Views {
    /// None: every node is a step.
    pub const fn none() -> Self {
        Self(BTreeSet::new())
    }

    /// Whether the node is a view.
    pub fn contains(&self, node: NodeId) -> bool {
        self.0.contains(&node)
    }

    /// The nodes, in order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.iter().copied()
    }

    /// These and the others.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        Self(self.0.union(&others.0).copied().collect())
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<NodeId> for Views {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        Self(nodes.into_iter().collect())
    }
}

/// Whether every element, taken in dense order, lies in the same texel and lane of a whole (row after row) tensor of
/// either shape, and the two have as many texels; the lanes past the last channel are then the same too.
///
/// Element `e` of a shape with one column or one slice lies at `e / C * 4 * ceil(C / 4) + e % C` lanes, whatever its
/// rows: two such *linear* shapes agree where they have the same channels, or where neither leaves a gap before its
/// last element. In any other shape channel 4 of the first pixel lies `W` texels on, and the second pixel starts one
/// texel on, which no linear shape and no other `W` or `C` repeats.
pub fn texels_agree(a: Shape, b: Shape) -> bool {
    let linear = |s: Shape| s.w == 1 || s.c <= 4;
    let gapless = |s: Shape| s.c.is_multiple_of(4) || s.pixels() == 1;
    let same_rows = a.w == b.w && a.c == b.c;
    let both_linear = linear(a) && linear(b) && (a.c == b.c || gapless(a) && gapless(b));
    a.checked_len() == b.checked_len() && (same_rows || both_linear)
}

/// Finds the reshapes that need no step: their texels agree, and no two graph inputs or outputs come to share texels.
pub(super) fn find(site: &Site, report: &mut Report) -> Views {
    let graph = &site.graph;
    // The tensor at the head of each chain of views, and for each head the input or output among its views.
    let mut head: Vec<TensorId> = (0..graph.tensors.len()).collect();
    let mut external: Vec<Option<TensorId>> = vec![None; graph.tensors.len()];
    for &tensor in graph.inputs.iter().chain(&graph.outputs) {
        external[tensor] = Some(tensor);
    }
    let mut views = BTreeSet::new();
    for (id, node) in graph.nodes.iter().enumerate() {
        let (Op::Reshape, &[from, ..], &[to]) = (&node.op, &node.inputs[..], &node.outputs[..]) else { continue };
        match check(site, node, (from, to), external[head[from]]) {
            Ok(()) => {
                views.insert(id);
                head[to] = head[from];
                external[head[from]] = external[head[from]].or(external[to]);
            }
            Err(why) => report.missed.push(Missed { rule: NAME, place: Place::of(graph, node), why }),
        }
    }
    Views(views)
}

fn check(
    site: &Site,
    node: &Node,
    (from, to): (TensorId, TensorId),
    shared: Option<TensorId>,
) -> Result<(), SkipReason> {
    let (from_shape, to_shape) = (site.graph.shape(from), site.graph.shape(to));
    if !node.epilogue.is_empty() {
        return Err(SkipReason::TailTaken { op: node.op.name() });
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
