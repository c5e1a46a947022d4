//! The state that rules work on: the graph, and for each tensor the node that computes it and the nodes that read it.

use std::cell::{Cell, OnceCell};

use super::{
    SkipReason,
    edit::{Edit, replace_uses},
};
use texpool_ops::graph::{Constant, Graph, IdVec, Node, NodeId, TensorId, keeps_texels};

/// Budgets for the elements of constants that rules may read and create. Each is a sum of amounts per element of the
/// graph's constants, per node, and per graph. In a small file a million nodes may share one large constant; without
/// a budget each rule would read it once per node and fold it into a million copies. No network of the catalogue
/// reads or creates more than 2 elements per element of its constants (logged at the end of `rewrite` with
/// `TEXPOOL_LOG=texpool=debug`), so the factors 64 and 8 leave room. They are chosen, not tuned.
const READ_BUDGET: BudgetRate = BudgetRate { each: 64, node: 1 << 14, base: 1 << 24 };
const CREATED_BUDGET: BudgetRate = BudgetRate { each: 8, node: 1 << 10, base: 1 << 22 };

struct BudgetRate {
    each: usize,
    node: usize,
    base: usize,
}

/// Number of elements that may be used, and the number used. The latter is a `Cell`, because rules only have a shared
/// reference to the context.
struct ElementBudget {
    most: usize,
    used: Cell<usize>,
}

impl ElementBudget {
    fn take(&self, elements: usize) -> Result<(), SkipReason> {
        let used = self.used.get().saturating_add(elements);
        if used > self.most {
            return Err(SkipReason::BudgetExceeded { elements });
        }
        self.used.set(used);
        Ok(())
    }
}

impl BudgetRate {
    fn of(&self, graph: &Graph) -> ElementBudget {
        let elements = graph.tensors.iter().filter_map(|tensor| tensor.constant.as_ref()).map(Constant::len);
        let elements = elements.fold(0, usize::saturating_add).saturating_mul(self.each);
        let most = elements.saturating_add(graph.nodes.len().saturating_mul(self.node)).saturating_add(self.base);
        ElementBudget { most, used: Cell::new(0) }
    }
}

/// Cached properties of a constant, which rules query again in every round.
#[derive(Default)]
struct ConstantFacts {
    uniform_value: OnceCell<Option<f32>>,
    is_nonzero: OnceCell<bool>,
}

/// A graph that is being rewritten. Nodes keep their ids until [`RewriteContext::into_graph`]. Rules never see
/// removed nodes.
pub(super) struct RewriteContext {
    pub(super) graph: Graph,
    removed: IdVec<NodeId, bool>,
    producer: IdVec<TensorId, Option<NodeId>>,
    readers: IdVec<TensorId, Vec<NodeId>>,
    outputs: IdVec<TensorId, bool>,
    facts: IdVec<TensorId, ConstantFacts>,
    /// Budgets of elements that rules read and create.
    read: ElementBudget,
    created: ElementBudget,
}

impl RewriteContext {
    pub(super) fn new(graph: Graph) -> Self {
        let mut outputs = IdVec::from_elem(false, &graph.tensors);
        graph.outputs.iter().for_each(|&output| outputs[output] = true);
        let mut ctx = Self {
            removed: IdVec::from_elem(false, &graph.nodes),
            producer: IdVec::from_elem(None, &graph.tensors),
            readers: IdVec::from_elem(Vec::new(), &graph.tensors),
            outputs,
            facts: graph.tensors.iter().map(|_| ConstantFacts::default()).collect(),
            read: READ_BUDGET.of(&graph),
            created: CREATED_BUDGET.of(&graph),
            graph,
        };
        for (id, node) in ctx.graph.nodes.iter_enumerated() {
            ctx.producer[node.output] = Some(id);
            node.operands().for_each(|tensor| ctx.readers[tensor].push(id));
        }
        ctx
    }

    /// Returns the graph without the removed nodes, with each node after those that compute its operands.
    pub(super) fn into_graph(self) -> Graph {
        let order = self.order();
        let mut graph = self.graph;
        let mut nodes: IdVec<NodeId, Option<Node>> = graph.nodes.into_iter().map(Some).collect();
        graph.nodes = order.into_iter().filter_map(|id| nodes[id].take()).collect();
        graph
    }

    /// Returns the remaining nodes in the order of their ids, but inserted ones, whose ids are the last, before the first
    /// node that reads them.
    fn order(&self) -> Vec<NodeId> {
        let mut order = Vec::with_capacity(self.graph.nodes.len());
        let mut is_placed = self.removed.clone();
        for id in self.ids() {
            let mut waiting = vec![id];
            while let Some(&node) = waiting.last() {
                let missing = self.graph.nodes[node].operands().filter_map(|tensor| self.producer[tensor]);
                let before = waiting.len();
                waiting.extend(missing.filter(|&producer| !is_placed[producer]));
                if waiting.len() == before {
                    waiting.pop();
                    if !std::mem::replace(&mut is_placed[node], true) {
                        order.push(node);
                    }
                }
            }
        }
        order
    }

    /// The remaining nodes, in order.
    pub(super) fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        // Collected, because the graph changes during a sweep.
        let ids: Vec<NodeId> = self.removed.ids().filter(|&id| !self.removed[id]).collect();
        ids.into_iter()
    }

    pub(super) fn is_removed(&self, id: NodeId) -> bool {
        self.removed[id]
    }

    /// Applies a change. The time is proportional to the nodes it touches, not to the size of the graph.
    pub(super) fn apply(&mut self, edit: Edit) {
        let Edit { tensors, nodes, inserted, replaced } = edit;
        self.graph.tensors.extend(tensors);
        self.producer.resize(self.graph.tensors.len(), None);
        self.readers.resize(self.graph.tensors.len(), Vec::new());
        self.outputs.resize(self.graph.tensors.len(), false);
        self.facts.resize_with(self.graph.tensors.len(), ConstantFacts::default);
        // Collected before the change: tensors that have readers now may have none afterwards.
        let read = |&(id, _): &(NodeId, _)| self.graph.nodes[id].operands().collect::<Vec<_>>();
        let former_operands: Vec<TensorId> =
            nodes.iter().flat_map(read).chain(replaced.iter().map(|&(old, _)| old)).collect();
        // Unlinks all nodes before linking any: a result may pass from one node of the edit to another, and the new
        // producer's entry must not be cleared afterwards.
        for (id, node) in &nodes {
            self.unlink(*id, node.as_ref());
        }
        for (id, node) in nodes {
            match node {
                Some(node) => self.link(id, node),
                None => self.removed[id] = true,
            }
        }
        for node in inserted {
            let id = self.graph.nodes.push(node);
            self.removed.push(false);
            self.producer[self.graph.nodes[id].output] = Some(id);
            self.graph.nodes[id].operands().for_each(|tensor| self.readers[tensor].push(id));
        }
        for (old, new) in replaced {
            let readers = std::mem::take(&mut self.readers[old]);
            readers.iter().for_each(|&id| replace_uses(&mut self.graph.nodes[id], old, new));
            self.readers[new].extend(readers);
        }
        // Frees constants that were folded into others right away; otherwise a network's weights would be held twice.
        for tensor in former_operands {
            if self.readers[tensor].is_empty() {
                self.graph.tensors[tensor].constant = None;
            }
        }
    }

    /// Numbers of elements of constants that rules have read and created.
    pub(super) fn charges(&self) -> [usize; 2] {
        [&self.read, &self.created].map(|budget| budget.used.get())
    }

    /// Charges the elements of constants that a rule is about to read.
    pub(super) fn charge_read(&self, elements: usize) -> Result<(), SkipReason> {
        self.read.take(elements)
    }

    /// Charges the elements of constants that a rule is about to create.
    pub(super) fn charge_created(&self, elements: usize) -> Result<(), SkipReason> {
        self.created.take(elements)
    }

    /// Puts a node in the place of an unlinked one.
    fn link(&mut self, id: NodeId, node: Node) {
        self.producer[node.output] = Some(id);
        if !same_operands(&self.graph.nodes[id], &node) {
            node.operands().for_each(|tensor| self.readers[tensor].push(id));
        }
        self.graph.nodes[id] = node;
    }

    /// Removes a node from `producer` and `readers`. If the node that replaces it reads the same operands, `readers`
    /// is not changed, because searching the long list of a shared tensor takes time.
    fn unlink(&mut self, id: NodeId, next: Option<&Node>) {
        let node = &self.graph.nodes[id];
        self.producer[node.output] = None;
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
    pub(super) fn producer(&self, tensor: TensorId) -> Option<NodeId> {
        self.producer[tensor]
    }

    /// The nodes that read a tensor. A node that reads it several times is listed as often.
    pub(super) fn readers(&self, tensor: TensorId) -> &[NodeId] {
        &self.readers[tensor]
    }

    pub(super) fn is_output(&self, tensor: TensorId) -> bool {
        self.outputs[tensor]
    }

    /// Checks that a tensor is read exactly once and is not a graph output, so that it can be removed.
    pub(super) fn check_one_use(&self, tensor: TensorId) -> Result<(), SkipReason> {
        match self.readers(tensor) {
            _ if self.is_output(tensor) => Err(SkipReason::IsOutput { tensor: self.name(tensor) }),
            [_] => Ok(()),
            _ => Err(SkipReason::ReadElsewhere { tensor: self.name(tensor) }),
        }
    }

    /// Returns the node that computes a tensor, if the tensor has [exactly one use](Self::check_one_use).
    pub(super) fn one_use_producer(&self, tensor: TensorId) -> Result<NodeId, SkipReason> {
        let producer = self.producer(tensor).ok_or_else(|| SkipReason::NotComputed { tensor: self.name(tensor) })?;
        self.check_one_use(tensor)?;
        Ok(producer)
    }

    /// Returns the common value of all elements of a constant.
    pub(super) fn uniform_value(&self, tensor: TensorId) -> Option<f32> {
        // Each constant is scanned only once, so this is not charged to a budget.
        let constant = self.graph.tensors[tensor].constant.as_ref()?;
        let look = || {
            let values = constant.to_f32();
            let (&first, rest) = values.split_first()?;
            rest.iter().all(|&value| value == first).then_some(first)
        };
        constant.repeats().or_else(|| *self.facts[tensor].uniform_value.get_or_init(look))
    }

    /// Returns whether a tensor is a constant without zeros.
    pub(super) fn is_nonzero(&self, tensor: TensorId) -> bool {
        let Some(constant) = &self.graph.tensors[tensor].constant else { return false };
        match constant.repeats() {
            Some(value) => value != 0.0,
            None => *self.facts[tensor].is_nonzero.get_or_init(|| constant.to_f32().iter().all(|&value| value != 0.0)),
        }
    }

    /// Returns the values of a constant that has a single value or one per channel, as one value per channel.
    pub(super) fn per_channel(&self, tensor: TensorId, channels: usize) -> Result<Vec<f32>, SkipReason> {
        let Some(constant) = &self.graph.tensors[tensor].constant else {
            return Err(SkipReason::NotConstant { tensor: self.name(tensor) });
        };
        self.charge_read(channels)?;
        match (constant.len(), self.graph.shape(tensor).c) {
            (1, _) => Ok(vec![constant.to_f32()[0]; channels]),
            // The shape matters as well: an equal number of values along another axis is not per channel.
            (len, c) if len == channels && c == channels => Ok(constant.to_f32().into_owned()),
            _ => Err(SkipReason::NotPerChannel { tensor: self.name(tensor) }),
        }
    }

    /// Returns whether a node could be a view of its operand, judging by its extents.
    pub(super) fn could_be_view(&self, node: &Node) -> bool {
        let shape = |tensor| self.graph.shape(tensor);
        let &[from, ..] = &node.inputs[..] else { return false };
        node.epilogue.is_empty() && keeps_texels(&node.op, shape(from), shape(node.output))
    }
}

fn same_operands(a: &Node, b: &Node) -> bool {
    a.operands().eq(b.operands())
}
