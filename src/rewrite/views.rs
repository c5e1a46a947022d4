//! Views: a reshape that needs no step, because its result's texels already lie right. Knows shapes, not placements.

use std::collections::BTreeSet;

use crate::graph::{NodeId, Shape};

/// The nodes whose result shares the texels of their operand, and which therefore need no step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Views(BTreeSet<NodeId>);

impl Views {
    /// No view: every node is a step.
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

    /// Number of views.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no view.
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
