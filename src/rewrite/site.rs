//! What a rule is shown: the graph, and who makes and who reads each tensor.

use std::cell::{Cell, OnceCell};

use super::{
    SkipReason,
    edit::{Edit, read_instead},
};
use crate::graph::{Constant, Graph, Node, NodeId, Op, TensorId, texels_agree};

impl Allowance {
    fn take(&self, elements: usize) -> Result<(), SkipReason> {
        let taken = self.taken.get().saturating_add(elements);
        if taken > self.most {
            return Err(SkipReason::TooMuch { elements });
        }
        self.taken.set(taken);
        Ok(())
    }
}

fn same_operands(a: &Node, b: &Node) -> bool {
    a.operands().eq(b.operands())
}

/// Elements of constants that rules may look at and may make, for each element of the graph's constants, for each node, and
/// whatever the graph: many nodes may share one large constant, and each look at it would be work, each change of it
/// memory. Of the catalogue's networks none looks at more than 2, or makes more than 2, for each that there is.
const LOOKED: Allowed = Allowed { each: 64, node: 1 << 14, base: 1 << 24 };
const MADE: Allowed = Allowed { each: 8, node: 1 << 10, base: 1 << 22 };

struct Allowed {
    each: usize,
    node: usize,
    base: usize,
}

/// How many elements there may be, and how many there were.
struct Allowance {
    most: usize,
    taken: Cell<usize>,
}

impl Allowed {
    fn of(&self, graph: &Graph) -> Allowance {
        let elements = graph.tensors.iter().filter_map(|tensor| tensor.constant.as_ref()).map(Constant::len);
        let elements = elements.fold(0, usize::saturating_add).saturating_mul(self.each);
        let most = elements.saturating_add(graph.nodes.len().saturating_mul(self.node)).saturating_add(self.base);
        Allowance { most, taken: Cell::new(0) }
    }
}

/// What is known of a constant once it was looked at: rules ask the same again and again.
#[derive(Default)]
struct Known {
    one_value: OnceCell<Option<f32>>,
    is_true: OnceCell<bool>,
}

/// A graph while it is rewritten. Nodes keep their ids until [`Site::into_graph`]; those taken out have no operands,
/// no result and are shown to no rule.
pub(super) struct Site {
    pub(super) graph: Graph,
    gone: Vec<bool>,
    maker: Vec<Option<NodeId>>,
    readers: Vec<Vec<NodeId>>,
    outputs: Vec<bool>,
    known: Vec<Known>,
    /// Elements of constants that rules may still look at, and may still make.
    looks: Allowance,
    makes: Allowance,
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
            known: (0..tensors).map(|_| Known::default()).collect(),
            looks: LOOKED.of(&graph),
            makes: MADE.of(&graph),
            graph,
        };
        for (id, node) in site.graph.nodes.iter().enumerate() {
            site.maker[node.output] = Some(id);
            node.operands().for_each(|tensor| site.readers[tensor].push(id));
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
        self.known.resize_with(self.graph.tensors.len(), Known::default);
        let read = |&(id, _): &(NodeId, _)| self.graph.nodes[id].operands().collect::<Vec<_>>();
        let left: Vec<TensorId> = nodes.iter().flat_map(read).chain(replaced.iter().map(|&(old, _)| old)).collect();
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
        // A constant that nobody reads any more is memory for nothing.
        for tensor in left {
            if self.readers[tensor].is_empty() {
                self.graph.tensors[tensor].constant = None;
            }
        }
    }

    /// Elements of constants that rules have looked at, and made.
    pub(super) fn taken(&self) -> [usize; 2] {
        [&self.looks, &self.makes].map(|allowance| allowance.taken.get())
    }

    /// Counts elements of constants that a rule is about to look at.
    pub(super) fn look_at(&self, elements: usize) -> Result<(), SkipReason> {
        self.looks.take(elements)
    }

    /// Counts elements of constants that a rule is about to make.
    pub(super) fn make(&self, elements: usize) -> Result<(), SkipReason> {
        self.makes.take(elements)
    }

    /// Puts a node in a place that the one before it has left.
    fn enter(&mut self, id: NodeId, node: Node) {
        self.maker[node.output] = Some(id);
        if !same_operands(&self.graph.nodes[id], &node) {
            node.operands().for_each(|tensor| self.readers[tensor].push(id));
        }
        self.graph.nodes[id] = node;
    }

    /// Takes back what is known of a node. One that reads the same after it stays a reader: a tensor may have many.
    fn leave(&mut self, id: NodeId, next: Option<&Node>) {
        let node = &self.graph.nodes[id];
        self.maker[node.output] = None;
        if next.is_some_and(|next| same_operands(node, next)) {
            return;
        }
        for tensor in node.operands() {
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
    pub(super) fn check_private(&self, tensor: TensorId) -> Result<(), SkipReason> {
        match self.readers(tensor) {
            _ if self.goes_out(tensor) => Err(SkipReason::GoesOut { tensor: self.name(tensor) }),
            [_] => Ok(()),
            _ => Err(SkipReason::ReadElsewhere { tensor: self.name(tensor) }),
        }
    }

    /// The node that computes a tensor, if the tensor may vanish.
    pub(super) fn private_maker(&self, tensor: TensorId) -> Result<NodeId, SkipReason> {
        let maker = self.maker(tensor).ok_or_else(|| SkipReason::NotComputed { tensor: self.name(tensor) })?;
        self.check_private(tensor)?;
        Ok(maker)
    }

    /// The value all elements of a constant have.
    pub(super) fn one_value(&self, tensor: TensorId) -> Option<f32> {
        let constant = self.graph.tensors[tensor].constant.as_ref()?;
        let look = || {
            let values = constant.to_f32();
            let (&first, rest) = values.split_first()?;
            rest.iter().all(|&value| value == first).then_some(first)
        };
        constant.repeats().or_else(|| *self.known[tensor].one_value.get_or_init(look))
    }

    /// Whether a tensor is a constant without a zero.
    pub(super) fn is_true(&self, tensor: TensorId) -> bool {
        let Some(constant) = &self.graph.tensors[tensor].constant else { return false };
        match constant.repeats() {
            Some(value) => value != 0.0,
            None => *self.known[tensor].is_true.get_or_init(|| constant.to_f32().iter().all(|&value| value != 0.0)),
        }
    }

    /// The values of a constant that has one value, or one a channel, as one a channel.
    pub(super) fn per_channel(&self, tensor: TensorId, channels: usize) -> Result<Vec<f32>, SkipReason> {
        let Some(constant) = &self.graph.tensors[tensor].constant else {
            return Err(SkipReason::NotConstant { tensor: self.name(tensor) });
        };
        self.look_at(channels)?;
        match (constant.len(), self.graph.shape(tensor).c) {
            (1, _) => Ok(vec![constant.to_f32()[0]; channels]),
            (len, c) if len == channels && c == channels => Ok(constant.to_f32().into_owned()),
            _ => Err(SkipReason::NotPerChannel { tensor: self.name(tensor) }),
        }
    }

    /// Whether a node is a reshape that could be a view, going by its extents alone.
    pub(super) fn could_be_view(&self, node: &Node) -> bool {
        match (&node.op, &node.inputs[..]) {
            (Op::Reshape, &[from, ..]) if node.epilogue.is_empty() => {
                texels_agree(self.graph.shape(from), self.graph.shape(node.output))
            }
            _ => false,
        }
    }
}
