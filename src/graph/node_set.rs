//! Some of a graph's nodes.

use std::collections::BTreeSet;

use super::NodeId;

/// Nodes of a graph, each once: mostly those that need no step of their own, or have less to write than their result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
// Ordered, so that what is made from it is the same in every run.
pub struct NodeSet(BTreeSet<NodeId>);

impl NodeSet {
    /// No node.
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// Whether a node is among them.
    pub fn contains(&self, node: NodeId) -> bool {
        self.0.contains(&node)
    }

    /// The nodes, in order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.iter().copied()
    }

    /// These and the others.
    #[must_use]
    pub fn union(&self, others: &Self) -> Self {
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

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        Self(nodes.into_iter().collect())
    }
}
