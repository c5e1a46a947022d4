//! What a rule is shown: the graph, and for each tensor which node computes it and which nodes read it.

use std::cell::{Cell, OnceCell};

use super::{
    SkipReason,
    edit::{Edit, replace_uses},
};
use crate::graph::{Constant, Graph, IdVec, Node, NodeId, Op, TensorId, texels_agree};

/// How many elements of constants rules may read and may create: so many for each element of the graph's constants, for
/// each node, and for any graph. A small file can have a million nodes share one large constant; without a budget each
/// rule would read it once a node, and fold into a copy of its own. No network of the catalogue needs more than 2 read
/// or 2 created for each element that it has (logged at the end of `rewrite` with `TEXPOOL_LOG=texpool=debug`), so the
/// factors 64 and 8 leave room; they are chosen, not tuned.
const READ_BUDGET: BudgetRate = BudgetRate { each: 64, node: 1 << 14, base: 1 << 24 };
const CREATED_BUDGET: BudgetRate = BudgetRate { each: 8, node: 1 << 10, base: 1 << 22 };

struct BudgetRate {
    each: usize,
    node: usize,
    base: usize,
}

/// How many elements may be spent, and how many were. A cell, because rules see the context shared.
struct ElementBudget {
    most: usize,
    taken: Cell<usize>,
}

impl ElementBudget {
    fn take(&self, elements: usize) -> Result<(), SkipReason> {
        let taken = self.taken.get().saturating_add(elements);
        if taken > self.most {
            return Err(SkipReason::BudgetExceeded { elements });
        }
        self.taken.set(taken);
        Ok(())
    }
}

impl BudgetRate {
    fn of(&self, graph: &Graph) -> ElementBudget {
        let elements = graph.tensors.iter().filter_map(|tensor| tensor.constant.as_ref()).map(Constant::len);
        let elements = elements.fold(0, usize::saturating_add).saturating_mul(self.each);
        let most = elements.saturating_add(graph.nodes.len().saturating_mul(self.node)).saturating_add(self.base);
        ElementBudget { most, taken: Cell::new(0) }
    }
}

/// What was found out about a constant: rules ask the same of it in every round.
#[derive(Default)]
struct ConstantFacts {
    uniform_value: OnceCell<Option<f32>>,
    is_nonzero: OnceCell<bool>,
}

/// A graph while it is rewritten. Nodes keep their ids until [`RewriteContext::into_graph`]; removed ones are shown to
/// no rule.
pub(super) struct RewriteContext {
    pub(super) graph: Graph,
    removed: IdVec<NodeId, bool>,
    producer: IdVec<TensorId, Option<NodeId>>,
    readers: IdVec<TensorId, Vec<NodeId>>,
    outputs: IdVec<TensorId, bool>,
    facts: IdVec<TensorId, ConstantFacts>,
    /// Budgets of elements that rules read, and that they create.
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

    /// The graph without the removed nodes.
    pub(super) fn into_graph(self) -> Graph {
        let mut graph = self.graph;
        let mut removed = self.removed.into_iter();
        graph.nodes.retain(|_| !removed.next().unwrap_or(false));
        graph
    }

    /// The nodes still there, in order.
    pub(super) fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        // Collected, because a sweep changes the graph as it goes.
        let ids: Vec<NodeId> = self.removed.ids().filter(|&id| !self.removed[id]).collect();
        ids.into_iter()
    }

    pub(super) fn is_removed(&self, id: NodeId) -> bool {
        self.removed[id]
    }

    /// Makes a change, in time proportional to the nodes that it touches and not to the graph.
    pub(super) fn apply(&mut self, edit: Edit) {
        let Edit { tensors, nodes, replaced } = edit;
        self.graph.tensors.extend(tensors);
        self.producer.resize(self.graph.tensors.len(), None);
        self.readers.resize(self.graph.tensors.len(), Vec::new());
        self.outputs.resize(self.graph.tensors.len(), false);
        self.facts.resize_with(self.graph.tensors.len(), ConstantFacts::default);
        // Noted before anything changes: whatever is read now may have no reader afterwards.
        let read = |&(id, _): &(NodeId, _)| self.graph.nodes[id].operands().collect::<Vec<_>>();
        let left: Vec<TensorId> = nodes.iter().flat_map(read).chain(replaced.iter().map(|&(old, _)| old)).collect();
        // All are unlinked before any is linked: a result may pass from one node of the edit to another, whose entry
        // must be the one that stays.
        for (id, node) in &nodes {
            self.unlink(*id, node.as_ref());
        }
        for (id, node) in nodes {
            match node {
                Some(node) => self.link(id, node),
                None => self.removed[id] = true,
            }
        }
        for (old, new) in replaced {
            let readers = std::mem::take(&mut self.readers[old]);
            readers.iter().for_each(|&id| replace_uses(&mut self.graph.nodes[id], old, new));
            self.readers[new].extend(readers);
        }
        // Frees constants that were folded into others at once: a network's weights would else be held twice.
        for tensor in left {
            if self.readers[tensor].is_empty() {
                self.graph.tensors[tensor].constant = None;
            }
        }
    }

    /// Elements of constants that rules have read, and that they have created.
    pub(super) fn taken(&self) -> [usize; 2] {
        [&self.read, &self.created].map(|budget| budget.taken.get())
    }

    /// Counts elements of constants that a rule is about to read.
    pub(super) fn charge_read(&self, elements: usize) -> Result<(), SkipReason> {
        self.read.take(elements)
    }

    /// Counts elements of constants that a rule is about to create.
    pub(super) fn charge_created(&self, elements: usize) -> Result<(), SkipReason> {
        self.created.take(elements)
    }

    /// Puts a node in the place of one that was unlinked.
    fn link(&mut self, id: NodeId, node: Node) {
        self.producer[node.output] = Some(id);
        if !same_operands(&self.graph.nodes[id], &node) {
            node.operands().for_each(|tensor| self.readers[tensor].push(id));
        }
        self.graph.nodes[id] = node;
    }

    /// Takes a node's entries out of `producer` and `readers`. Where the next node in its place reads the same operands
    /// the readers stay, because finding one among the many of a shared tensor takes time.
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

    /// The nodes that read a tensor, once for each time they do.
    pub(super) fn readers(&self, tensor: TensorId) -> &[NodeId] {
        &self.readers[tensor]
    }

    pub(super) fn is_output(&self, tensor: TensorId) -> bool {
        self.outputs[tensor]
    }

    /// Checks that a tensor is read once and is no graph output, so that it may go.
    pub(super) fn check_one_use(&self, tensor: TensorId) -> Result<(), SkipReason> {
        match self.readers(tensor) {
            _ if self.is_output(tensor) => Err(SkipReason::IsOutput { tensor: self.name(tensor) }),
            [_] => Ok(()),
            _ => Err(SkipReason::ReadElsewhere { tensor: self.name(tensor) }),
        }
    }

    /// The node that computes a tensor, if that is [read once](Self::check_one_use).
    pub(super) fn one_use_producer(&self, tensor: TensorId) -> Result<NodeId, SkipReason> {
        let producer = self.producer(tensor).ok_or_else(|| SkipReason::NotComputed { tensor: self.name(tensor) })?;
        self.check_one_use(tensor)?;
        Ok(producer)
    }

    /// The value all elements of a constant have.
    pub(super) fn uniform_value(&self, tensor: TensorId) -> Option<f32> {
        // Each constant is looked through once, so this is charged to no budget.
        let constant = self.graph.tensors[tensor].constant.as_ref()?;
        let look = || {
            let values = constant.to_f32();
            let (&first, rest) = values.split_first()?;
            rest.iter().all(|&value| value == first).then_some(first)
        };
        constant.repeats().or_else(|| *self.facts[tensor].uniform_value.get_or_init(look))
    }

    /// Whether a tensor is a constant without a zero.
    pub(super) fn is_nonzero(&self, tensor: TensorId) -> bool {
        let Some(constant) = &self.graph.tensors[tensor].constant else { return false };
        match constant.repeats() {
            Some(value) => value != 0.0,
            None => *self.facts[tensor].is_nonzero.get_or_init(|| constant.to_f32().iter().all(|&value| value != 0.0)),
        }
    }

    /// The values of a constant that has one value, or one a channel, as one a channel.
    pub(super) fn per_channel(&self, tensor: TensorId, channels: usize) -> Result<Vec<f32>, SkipReason> {
        let Some(constant) = &self.graph.tensors[tensor].constant else {
            return Err(SkipReason::NotConstant { tensor: self.name(tensor) });
        };
        self.charge_read(channels)?;
        match (constant.len(), self.graph.shape(tensor).c) {
            (1, _) => Ok(vec![constant.to_f32()[0]; channels]),
            // As many values along another axis are not one a channel.
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

fn same_operands(a: &Node, b: &Node) -> bool {
    a.operands().eq(b.operands())
}
