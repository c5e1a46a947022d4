//! What a rule is shown: the graph, and who makes and who reads each tensor.

use super::{WhyNot, texels_agree};
use crate::graph::{Act, Graph, Node, NodeId, Op, TensorId};

/// Every tensor a node reads, constants included: operands, then the tail's alphas and addend.
pub(crate) fn operands(node: &Node) -> impl Iterator<Item = TensorId> + '_ {
    let alphas = [node.tail.first, node.tail.then].into_iter().filter_map(|act| match act {
        Act::Prelu(alpha) => Some(alpha),
        Act::None | Act::Unary(_) => None,
    });
    node.inputs.iter().copied().chain(alphas).chain(node.tail.add)
}

/// A graph as it stands between two edits.
pub(super) struct Site<'a> {
    pub(super) graph: &'a Graph,
    maker: Vec<Option<NodeId>>,
    readers: Vec<Vec<NodeId>>,
}

impl<'a> Site<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        let mut maker = vec![None; graph.tensors.len()];
        let mut readers = vec![Vec::new(); graph.tensors.len()];
        for (id, node) in graph.nodes.iter().enumerate() {
            node.outputs.iter().for_each(|&tensor| maker[tensor] = Some(id));
            operands(node).for_each(|tensor| readers[tensor].push(id));
        }
        Self { graph, maker, readers }
    }

    pub(super) fn node(&self, id: NodeId) -> &'a Node {
        &self.graph.nodes[id]
    }

    pub(super) fn name(&self, tensor: TensorId) -> String {
        self.graph.tensors[tensor].name.clone()
    }

    /// The node that computes a tensor.
    pub(super) fn maker(&self, tensor: TensorId) -> Option<NodeId> {
        self.maker[tensor]
    }

    /// The nodes that read a tensor, once for each time they do.
    pub(super) fn readers(&self, tensor: TensorId) -> &[NodeId] {
        &self.readers[tensor]
    }

    pub(super) fn goes_out(&self, tensor: TensorId) -> bool {
        self.graph.outputs.contains(&tensor)
    }

    /// Whether a tensor is read once and seen by nobody else, so that it may vanish.
    pub(super) fn check_private(&self, tensor: TensorId) -> Result<(), WhyNot> {
        match self.readers(tensor) {
            _ if self.goes_out(tensor) => Err(WhyNot::GoesOut { tensor: self.name(tensor) }),
            [_] => Ok(()),
            _ => Err(WhyNot::ReadElsewhere { tensor: self.name(tensor) }),
        }
    }

    /// The node that computes a tensor, if the tensor may vanish.
    pub(super) fn private_maker(&self, tensor: TensorId) -> Result<NodeId, WhyNot> {
        let maker = self.maker(tensor).ok_or_else(|| WhyNot::NotComputed { tensor: self.name(tensor) })?;
        self.check_private(tensor)?;
        Ok(maker)
    }

    /// The value all elements of a constant have.
    pub(super) fn one_value(&self, tensor: TensorId) -> Option<f32> {
        let values = self.graph.tensors[tensor].constant.as_ref()?.to_f32();
        let (&first, rest) = values.split_first()?;
        rest.iter().all(|&value| value == first).then_some(first)
    }

    /// The values of a constant that has one value, or one a channel, as one a channel.
    pub(super) fn per_channel(&self, tensor: TensorId, channels: usize) -> Result<Vec<f32>, WhyNot> {
        let Some(constant) = &self.graph.tensors[tensor].constant else {
            return Err(WhyNot::NotConstant { tensor: self.name(tensor) });
        };
        match (constant.len(), self.graph.shape(tensor).c) {
            (1, _) => Ok(vec![constant.to_f32()[0]; channels]),
            (len, c) if len == channels && c == channels => Ok(constant.to_f32().into_owned()),
            _ => Err(WhyNot::NotPerChannel { tensor: self.name(tensor) }),
        }
    }

    /// Whether a node is a reshape that could be a view, going by its extents alone.
    pub(super) fn could_be_view(&self, node: &Node) -> bool {
        match (&node.op, &node.inputs[..], &node.outputs[..]) {
            (Op::Reshape, &[from, ..], &[to]) if node.tail.is_empty() => {
                texels_agree(self.graph.shape(from), self.graph.shape(to))
            }
            _ => false,
        }
    }
}
