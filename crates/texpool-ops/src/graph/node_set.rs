//! A set of a graph's nodes.

use std::collections::BTreeSet;

use super::NodeId;

/// A set of nodes of one graph. Mostly used for nodes that need no separate step, or that write less than their whole
/// result.
///
/// ```
/// use texpool::graph::{NodeId, NodeSet};
///
/// let views: NodeSet = [3, 1].map(NodeId::new).into_iter().collect();
/// let in_place: NodeSet = [3].map(NodeId::new).into_iter().collect();
/// assert!(views.contains(NodeId::new(1)) && NodeSet::new().is_empty());
/// assert!(views.iter().eq([1, 3].map(NodeId::new))); // in order
/// assert_eq!(views.union(&in_place).len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
// Ordered, so that everything derived from it is the same in every run.
pub struct NodeSet(BTreeSet<NodeId>);

impl NodeSet {
    /// An empty set.
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// Returns whether the set contains a node.
    pub fn contains(&self, node: NodeId) -> bool {
        self.0.contains(&node)
    }

    /// Iterates over the nodes, in order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.iter().copied()
    }

    /// Returns the union of both sets.
    #[must_use]
    pub fn union(&self, others: &Self) -> Self {
        Self(self.0.union(&others.0).copied().collect())
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        Self(nodes.into_iter().collect())
    }
}
