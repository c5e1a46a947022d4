//! What a rule answers: a change to the graph, as data. The context carries it out, so that it keeps its tables of
//! producers and readers right whatever a rule does.

use super::SkipReason;
use crate::graph::{Act, Graph, Node, NodeId, Tensor, TensorId};

/// What a rule answers for one node: `None` where the node is not of its kind, a change, or why it makes none.
pub(super) type Proposal = Result<Option<Edit>, SkipReason>;

/// A change. Tensors and nodes keep their ids.
#[derive(Default)]
pub(super) struct Edit {
    /// New tensors; the first takes the id after the graph's last.
    pub(super) tensors: Vec<Tensor>,
    /// Nodes that replace others, or that are removed.
    pub(super) nodes: Vec<(NodeId, Option<Node>)>,
    /// Tensors read in place of others, by every node.
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

    pub(super) fn replace_uses(mut self, old: TensorId, new: TensorId) -> Self {
        self.replaced.push((old, new));
        self
    }

    /// Adds a tensor and gives the id it will have.
    pub(super) fn add(&mut self, graph: &Graph, tensor: Tensor) -> TensorId {
        // Edits are applied before the next is proposed, so no other one takes the id.
        let id = TensorId::new(graph.tensors.len() + self.tensors.len());
        self.tensors.push(tensor);
        id
    }
}

/// Makes a node read `new` wherever it read `old`.
pub(super) fn replace_uses(node: &mut Node, old: TensorId, new: TensorId) {
    let alphas = [&mut node.epilogue.first, &mut node.epilogue.then].into_iter().filter_map(|act| match act {
        Act::Prelu(alpha) => Some(alpha),
        Act::None | Act::Unary(_) => None,
    });
    for read in node.inputs.iter_mut().chain(alphas).chain(&mut node.epilogue.add) {
        if *read == old {
            *read = new;
        }
    }
}
