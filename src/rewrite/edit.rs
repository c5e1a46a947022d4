//! What a rule answers: a change to the graph as data. Knows no rule, and makes no change.

use super::SkipReason;
use crate::graph::{Act, Graph, Node, NodeId, Tensor, TensorId};

/// What a rule says of one node: nothing to do with it, a change, or why there is none.
pub(super) type Verdict = Result<Option<Edit>, SkipReason>;

/// A change. Tensors and nodes keep their ids.
#[derive(Default)]
pub(super) struct Edit {
    /// New tensors; the first takes the id after the graph's last.
    pub(super) tensors: Vec<Tensor>,
    /// Nodes put in the place of others, or taken out.
    pub(super) nodes: Vec<(NodeId, Option<Node>)>,
    /// Tensors read in place of others, by every node.
    pub(super) replaced: Vec<(TensorId, TensorId)>,
}

impl Edit {
    pub(super) fn put(mut self, place: NodeId, node: Node) -> Self {
        self.nodes.push((place, Some(node)));
        self
    }

    pub(super) fn take_out(mut self, node: NodeId) -> Self {
        self.nodes.push((node, None));
        self
    }

    pub(super) fn read_instead(mut self, old: TensorId, new: TensorId) -> Self {
        self.replaced.push((old, new));
        self
    }

    /// Adds a tensor and gives the id it will have.
    pub(super) fn add(&mut self, graph: &Graph, tensor: Tensor) -> TensorId {
        self.tensors.push(tensor);
        graph.tensors.len() + self.tensors.len() - 1
    }
}

/// Makes a node read `new` wherever it read `old`.
pub(super) fn read_instead(node: &mut Node, old: TensorId, new: TensorId) {
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
