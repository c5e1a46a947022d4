//! What a rule is shown: the graph, and who makes and who reads each tensor.

use super::{
    WhyNot,
    edit::{Edit, read_instead},
    texels_agree,
};
use crate::graph::{Act, Graph, Node, NodeId, Op, TensorId};

/// Every tensor a node reads, constants included: operands, then the tail's alphas and addend.
pub(crate) fn operands(node: &Node) -> impl Iterator<Item = TensorId> + '_ {
    let alphas = [node.tail.first, node.tail.then].into_iter().filter_map(|act| match act {
        Act::Prelu(alpha) => Some(alpha),
        Act::None | Act::Unary(_) => None,
    });
    node.inputs.iter().copied().chain(alphas).chain(node.tail.add)
}

fn same_operands(a: &Node, b: &Node) -> bool {
    operands(a).eq(operands(b))
}

/// A graph while it is rewritten. Nodes keep their ids until [`Site::into_graph`]; those taken out have no operands,
/// no result and are shown to no rule.
pub(super) struct Site {
    pub(super) graph: Graph,
    gone: Vec<bool>,
    maker: Vec<Option<NodeId>>,
    readers: Vec<Vec<NodeId>>,
    outputs: Vec<bool>,
}

impl Site {
    pub(super) fn new(graph: Graph) -> Self {
        let tensors = graph.tensors.len();
        let mut outputs = vec![false; tensors];
        graph.outputs.iter().for_each(|&output| outputs[output] = true);
        let mut site = Self {
            gone: vec![false; graph.nodes.len()],
            maker: vec![None; tensors],
            readers: vec![Vec::new(); tensors],
            outputs,
            graph,
        };
        for (id, node) in site.graph.nodes.iter().enumerate() {
            node.outputs.iter().for_each(|&tensor| site.maker[tensor] = Some(id));
            operands(node).for_each(|tensor| site.readers[tensor].push(id));
        }
        site
    }

    /// The graph without the nodes that were taken out.
    pub(super) fn into_graph(self) -> Graph {
        let mut graph = self.graph;
        let mut gone = self.gone.into_iter();
        graph.nodes.retain(|_| !gone.next().unwrap_or(false));
        graph
    }

    /// The nodes still there, in order.
    pub(super) fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        let ids: Vec<NodeId> = (0..self.gone.len()).filter(|&id| !self.gone[id]).collect();
        ids.into_iter()
    }

    pub(super) fn is_gone(&self, id: NodeId) -> bool {
        self.gone[id]
    }

    /// Makes a change. The work is in the nodes it touches, not in the graph.
    pub(super) fn apply(&mut self, edit: Edit) {
        let Edit { tensors, nodes, replaced } = edit;
        self.graph.tensors.extend(tensors);
        self.maker.resize(self.graph.tensors.len(), None);
        self.readers.resize(self.graph.tensors.len(), Vec::new());
        self.outputs.resize(self.graph.tensors.len(), false);
        for (id, node) in &nodes {
            self.leave(*id, node.as_ref());
        }
        for (id, node) in nodes {
            match node {
                Some(node) => self.enter(id, node),
                None => self.gone[id] = true,
            }
        }
        for (old, new) in replaced {
            let readers = std::mem::take(&mut self.readers[old]);
            readers.iter().for_each(|&id| read_instead(&mut self.graph.nodes[id], old, new));
            self.readers[new].extend(readers);
        }
    }

    /// Puts a node in a place that the one before it has left.
    fn enter(&mut self, id: NodeId, node: Node) {
        node.outputs.iter().for_each(|&tensor| self.maker[tensor] = Some(id));
        if !same_operands(&self.graph.nodes[id], &node) {
            operands(&node).for_each(|tensor| self.readers[tensor].push(id));
        }
        self.graph.nodes[id] = node;
    }

    /// Takes back what is known of a node. One that reads the same after it stays a reader: a tensor may have many.
    fn leave(&mut self, id: NodeId, next: Option<&Node>) {
        let node = &self.graph.nodes[id];
        node.outputs.iter().for_each(|&tensor| self.maker[tensor] = None);
        if next.is_some_and(|next| same_operands(node, next)) {
            return;
        }
        for tensor in operands(node) {
            let readers = &mut self.readers[tensor];
            if let Some(place) = readers.iter().rposition(|&reader| reader == id) {
                readers.remove(place);
            }
        }
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
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
        self.outputs[tensor]
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

    /// Whether a tensor is a constant without a zero.
    pub(super) fn is_true(&self, tensor: TensorId) -> bool {
        let constant = self.graph.tensors[tensor].constant.as_ref();
        constant.is_some_and(|constant| constant.to_f32().iter().all(|&value| value != 0.0))
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
