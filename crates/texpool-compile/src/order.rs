//! The order of operators with the smallest pool of whole tensors.
//!
//! Each operator computes the same as in the file's order, so the results have the same bits.

use super::error::CompileError;
use crate::schedule::{Contents, Schedule};
use texpool_model::rewrite::Rewritten;
use texpool_ops::graph::{self, Graph, IdVec, NodeId, NodeSet, TensorId};
use texpool_plan::{OrderProblem, OrderTensor, StepUse};

/// The order in which a model's operators run, with the memory of whole tensors in this order and in the file's.
///
/// Row tiling starts from this order, but the figures are those of whole tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryOrder {
    /// Nodes of the rewritten graph, numbered in the file's order, in the order in which they run. Empty if they run in
    /// the file's order.
    pub(crate) nodes: Vec<NodeId>,
    /// Memory in the file's order.
    pub file: OrderMemory,
    /// Memory in the order that was chosen.
    pub chosen: OrderMemory,
    /// Bytes below which no order's peak lies, with the same parts written in place.
    pub bound_bytes: u64,
    /// True if no order and no placement of whole tensors takes fewer texels, with the same parts written in place.
    pub is_proven: bool,
}

/// Memory of the tensors in the pool in some order of the operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderMemory {
    /// Largest number of bytes alive at once.
    pub peak_bytes: u64,
    /// Bytes of the pool.
    pub pool_bytes: u64,
}

impl MemoryOrder {
    /// Returns whether the operators run in the file's order, because no order with a smaller pool was found.
    pub fn is_of_file(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// The nodes of a schedule that have steps, as operations to put in order.
pub(super) struct NodeOrder {
    pub(super) problem: OrderProblem,
    /// The node of each operation.
    nodes: Vec<NodeId>,
}

impl NodeOrder {
    /// Creates the problem of a schedule with uploads and downloads. The weights of a node count as one tensor of the
    /// size of its largest tile.
    pub(super) fn new(graph: &Graph, schedule: &Schedule) -> Result<Self, CompileError> {
        let mut nodes: Vec<NodeId> = Vec::new();
        let mut uses: Vec<StepUse> = Vec::new();
        let mut tiles: Vec<u64> = Vec::new();
        for step in schedule.steps.iter().filter(|step| !step.kind.is_transfer()) {
            if nodes.last() != Some(&step.node) {
                nodes.push(step.node);
                uses.push(StepUse::default());
                tiles.push(0);
            }
            let at = nodes.len() - 1;
            uses[at].writes.extend(schedule.record(step.to));
            for read in &step.reads {
                let storage = &schedule.storages[read.storage];
                match (storage.contents, schedule.record(read.storage)) {
                    (Contents::Weights(_), _) => tiles[at] = tiles[at].max(storage.texels()),
                    (Contents::Tensor(_), Some(record)) => uses[at].reads.push(record),
                    (Contents::Tensor(_), None) => {}
                }
            }
        }
        let tensors = used_tensors(schedule, &mut uses, &tiles);
        let after = dependencies(graph, &nodes);
        let problem = OrderProblem::with_dependencies(uses, tensors, after)?;
        Ok(Self { problem, nodes })
    }

    /// Returns all nodes of the graph in the order of `operations`. A node without a step follows as soon as its
    /// operands are computed.
    pub(super) fn with_stepless_nodes(&self, graph: &Graph, operations: &[usize]) -> Vec<NodeId> {
        let has_step: NodeSet = self.nodes.iter().copied().collect();
        let mut stepless: Vec<NodeId> = graph.nodes.ids().filter(|&id| !has_step.contains(id)).collect();
        let mut computed: IdVec<TensorId, bool> = graph.tensors.iter().map(|t| t.constant.is_some()).collect();
        graph.inputs.iter().for_each(|&input| computed[input] = true);
        let mut order = Vec::with_capacity(graph.nodes.len());
        let mut follow = |order: &mut Vec<NodeId>, computed: &mut IdVec<TensorId, bool>| {
            // In the file's order, so that a view of a view follows in the same round.
            stepless.retain(|&id| {
                let node = &graph.nodes[id];
                let is_next = node.operands().all(|operand| computed[operand]);
                if is_next {
                    computed[node.output] = true;
                    order.push(id);
                }
                !is_next
            });
        };
        follow(&mut order, &mut computed);
        for &operation in operations {
            let id = self.nodes[operation];
            computed[graph.nodes[id].output] = true;
            order.push(id);
            follow(&mut order, &mut computed);
        }
        order
    }
}

/// Returns the tensors that operations use, and renumbers them in `uses`; adds the tiles of weights.
fn used_tensors(schedule: &Schedule, uses: &mut [StepUse], tiles: &[u64]) -> Vec<OrderTensor> {
    let mut number: Vec<Option<usize>> = vec![None; schedule.records.len()];
    let mut tensors = Vec::new();
    for (uses, &tile) in uses.iter_mut().zip(tiles) {
        for record in uses.reads.iter_mut().chain(&mut uses.writes) {
            let tensor = number[*record].unwrap_or(tensors.len());
            if number[*record].replace(tensor).is_none() {
                tensors.push(OrderTensor::new(schedule.records[*record].size));
            }
            *record = tensor;
        }
        if tile > 0 {
            uses.reads.push(tensors.len());
            tensors.push(OrderTensor::new(tile));
        }
    }
    tensors
}

/// For each of the nodes with steps, returns the ones that compute its operands, also through nodes without steps.
fn dependencies(graph: &Graph, nodes: &[NodeId]) -> Vec<Vec<usize>> {
    let mut operation = vec![None; graph.nodes.len()];
    nodes.iter().enumerate().for_each(|(at, node)| operation[node.index()] = Some(at));
    let mut producers: IdVec<TensorId, Vec<usize>> = graph.tensors.iter().map(|_| Vec::new()).collect();
    let mut after = Vec::with_capacity(nodes.len());
    for (id, node) in graph.nodes.iter_enumerated() {
        let mut before: Vec<usize> = node.operands().flat_map(|operand| producers[operand].clone()).collect();
        before.sort_unstable();
        before.dedup();
        match operation[id.index()] {
            Some(operation) => {
                // A pad whose operand was written in place has a step, and so do those that write the operand.
                producers[node.output] = before.iter().copied().chain([operation]).collect();
                after.push(before);
            }
            None => producers[node.output] = before,
        }
    }
    after
}

/// Returns the rewritten graph with its nodes in another order.
///
/// # Errors
/// [`CompileError::Graph`] if a node would run before one that computes its operands, or if the order does not contain
/// each node once.
pub(super) fn reordered(rewritten: Rewritten, order: &[NodeId]) -> Result<Rewritten, CompileError> {
    let Rewritten { mut graph, views, in_place, report } = rewritten;
    let mut number = vec![None; graph.nodes.len()];
    for (at, id) in order.iter().enumerate() {
        if let Some(number) = number.get_mut(id.index()) {
            *number = Some(NodeId::new(at));
        }
    }
    let renumbered = |set: &NodeSet| set.iter().filter_map(|id| number[id.index()]).collect();
    let (views, in_place) = (renumbered(&views), renumbered(&in_place));
    graph.nodes = order.iter().filter_map(|&id| graph.nodes.get(id).cloned()).collect();
    // Detects nodes that are missing, there twice, or too early.
    graph::check(&graph)?;
    Ok(Rewritten { graph, views, in_place, report })
}
