//! Selects nodes of an ONNX graph for the execution provider. ONNX Runtime hands over any sets that the provider names,
//! and computes nodes of constants before it queries the provider.

use super::{
    boundary::{Borders, producers, reads, waits, work},
    integers::unfit,
    rules::Rules,
    selection::{NodeStanding, Partition, Selection, circular},
    turns::{FirstTurn, sets},
    worth::too_small,
};
use crate::import::{GraphOutline, NodeOutline, Refusal, Verdict};

/// The nodes of a graph, taken in as few sets as possible.
pub(super) struct OnnxRuntimeRules<'g> {
    graph: &'g GraphOutline,
    min_operations: u64,
    borders: Borders,
    waits: Vec<Vec<usize>>,
    /// Verdicts on the nodes that are not taken.
    others: Vec<Option<NodeStanding>>,
    /// Number of nodes that must run.
    required: usize,
}

impl<'g> OnnxRuntimeRules<'g> {
    /// Begins with all nodes that the importer accepts. `folds_constants` says that the runtime has computed nodes of
    /// constants.
    pub(super) fn new(graph: &'g GraphOutline, min_operations: u64, folds_constants: bool) -> Self {
        let borders = borders(graph, folds_constants);
        let other = |(node, folded): (&_, &bool)| standing(graph, node, *folded);
        let others = graph.nodes.iter().zip(&borders.known_nodes).map(other).collect();
        let required = graph.nodes.iter().filter(|node| node.verdict != Verdict::Known).count();
        Self { graph, min_operations, waits: waits(graph, &borders.known_nodes), borders, others, required }
    }
}

/// Returns the verdict on a node, or `None` if it may be taken.
fn standing(graph: &GraphOutline, node: &NodeOutline, folded: bool) -> Option<NodeStanding> {
    match &node.verdict {
        Verdict::Known if folded => Some(NodeStanding::Known),
        Verdict::Computed | Verdict::Passed | Verdict::Known => {
            kept_by_runtime(graph, node).or_else(|| unfit(graph, node)).map(NodeStanding::Left)
        }
        Verdict::Refused(refusal) => Some(NodeStanding::Left(refusal.clone())),
        Verdict::Unknown(refusal) => Some(NodeStanding::Unknown(refusal.clone())),
    }
}

/// Why nodes are left whose results have an extent that depends on values.
const DEPENDING: (&str, &str) = (
    "an extent of its result depends on values that are computed at run time",
    "the runtime computes it; texpool alone computes as many places as there may be",
);

/// Refuses nodes whose bodies the runtime keeps: loops, and an `If` whose condition is computed in a run. The runtime puts
/// the branch of any other `If` in its place before it queries the provider. Also refuses nodes whose results have an
/// extent that depends on values, which the runtime must know for the nodes behind them.
fn kept_by_runtime(graph: &GraphOutline, node: &NodeOutline) -> Option<Refusal> {
    let is_constant = |&tensor: &usize| graph.tensors[tensor].constant;
    let (reason, hint) = match node.operator.as_str() {
        "If" if !node.inputs.first().is_some_and(is_constant) => (
            "its condition is computed in a run, and the runtime keeps the branches",
            "the runtime computes it; texpool alone computes both branches",
        ),
        "Loop" | "Scan" => (
            "the runtime keeps the body of a loop",
            "the runtime computes it; texpool alone repeats the body where its iterations can be counted",
        ),
        "ai.onnx.preview.FlexAttention" => {
            ("the runtime keeps the bodies of an attention", "the runtime computes it; texpool alone lowers the bodies")
        }
        "NonMaxSuppression" => DEPENDING,
        "NonZero" if node.verdict != Verdict::Known => DEPENDING,
        "Compress" if node.verdict != Verdict::Known && !node.inputs.get(1).is_some_and(is_constant) => DEPENDING,
        _ => return None,
    };
    Some(Refusal { reason: reason.to_owned(), hint: hint.to_owned() })
}

/// Finds the nodes that the runtime computes before a run. Other nodes whose results follow from extents are candidates,
/// since the runtime knows no open extents before a run.
fn borders(graph: &GraphOutline, folds_constants: bool) -> Borders {
    let producers = producers(graph);
    let tensors = graph.tensors.iter().zip(&producers);
    let mut constant: Vec<bool> = tensors.map(|(tensor, producer)| tensor.constant && producer.is_none()).collect();
    let mut known_nodes = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let stated =
            |&tensor: &usize| graph.tensors[tensor].dims.as_ref().is_some_and(|dims| dims.iter().all(Option::is_some));
        let of_constants = reads(node).all(|tensor| constant[tensor]);
        let of_extents = node.operator == "Shape" && node.inputs.iter().all(stated);
        let folded = folds_constants && node.verdict == Verdict::Known && (of_constants || of_extents);
        node.outputs.iter().for_each(|&tensor| constant[tensor] |= folded);
        known_nodes.push(folded);
    }
    Borders { constant_nodes: known_nodes.clone(), known_nodes, constant }
}

impl Rules for OnnxRuntimeRules<'_> {
    fn taken_nodes(&mut self) -> Vec<bool> {
        self.others.iter().map(Option::is_none).collect()
    }

    fn sets(&self, is_taken: &[bool]) -> Vec<Vec<usize>> {
        sets(&self.waits, is_taken, FirstTurn::Left)
    }

    fn partition(&self, nodes: Vec<usize>) -> Partition {
        self.borders.partition(self.graph, nodes)
    }

    fn unworthy(&self, partition: &Partition) -> Option<Refusal> {
        let nodes = partition.nodes.iter().map(|&node| &self.graph.nodes[node]);
        // A result that is a constant is written in every run.
        let written = partition.outputs.iter().any(|&tensor| self.graph.tensors[tensor].constant);
        if !written && !nodes.clone().any(|node| node.verdict == Verdict::Computed) {
            return Some(Refusal {
                reason: "by itself it only passes values on, which is not worth a copy to the device and back"
                    .to_owned(),
                hint: "it costs the runtime next to nothing".to_owned(),
            });
        }
        let whole = nodes.filter(|node| node.verdict != Verdict::Known).count() == self.required;
        too_small(work(self.graph, partition), whole, self.min_operations)
    }

    fn leave(&mut self, node: usize, refusal: Refusal) -> bool {
        let is_known = self.graph.nodes[node].verdict == Verdict::Known;
        let other = &mut self.others[node];
        let new = other.is_none();
        other.get_or_insert(if is_known { NodeStanding::Known } else { NodeStanding::Left(refusal) });
        new
    }

    fn selection(&self, partitions: Vec<Partition>) -> Selection {
        let others = self.others.iter().map(|other| other.clone().unwrap_or_else(|| NodeStanding::Left(circular())));
        Selection::new(partitions, others.collect())
    }
}
