//! The result of a rule: a change to the graph, as data. The context applies it, so its tables of producers and
//! readers stay correct whatever the rule does.

use super::SkipReason;
use texpool_ops::graph::{Graph, Node, NodeId, Tensor, TensorId};

/// Result of a rule for one node: a change, the reason for not changing the node, or `None` if the rule does not
/// apply to this kind of node.
pub(super) type Proposal = Result<Option<Edit>, SkipReason>;

/// A change to the graph. Tensors and nodes keep their ids.
#[derive(Default)]
pub(super) struct Edit {
    /// New tensors; the first gets the id after the graph's last.
    pub(super) tensors: Vec<Tensor>,
    /// Nodes with their replacements; `None` removes the node.
    pub(super) nodes: Vec<(NodeId, Option<Node>)>,
    /// New nodes, whose results are new tensors.
    pub(super) inserted: Vec<Node>,
    /// Pairs of tensors: all nodes that read the first will read the second.
    pub(super) replaced: Vec<(TensorId, TensorId)>,
}

impl Edit {
    pub(super) fn replace(mut self, place: NodeId, node: Node) -> Self {
        self.nodes.push((place, Some(node)));
        self
    }

    pub(super) fn remove(mut self, node: NodeId) -> Self {
        self.nodes.push((node, None));
        self
    }

    pub(super) fn insert(&mut self, node: Node) {
        self.inserted.push(node);
    }

    pub(super) fn replace_uses(mut self, old: TensorId, new: TensorId) -> Self {
        self.replaced.push((old, new));
        self
    }

    /// Adds a tensor and returns the id that it will have.
    pub(super) fn add(&mut self, graph: &Graph, tensor: Tensor) -> TensorId {
        // Each edit is applied before the next is proposed, so this id cannot be taken by another edit.
        let id = TensorId::new(graph.tensors.len() + self.tensors.len());
        self.tensors.push(tensor);
        id
    }
}

/// Makes a node read `new` in every place where it read `old`.
pub(super) fn replace_uses(node: &mut Node, old: TensorId, new: TensorId) {
    for read in node.operands_mut() {
        if *read == old {
            *read = new;
        }
    }
}
