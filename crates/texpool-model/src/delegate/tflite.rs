//! Selects nodes of a TensorFlow Lite graph for the delegate, in the sets that the runtime forms: the nodes of one
//! turn.

use super::{
    boundary::{Borders, waits, work},
    rules::Rules,
    selection::{NodeStanding, Partition, Selection, circular},
    turns::{FirstTurn, sets},
    worth::too_small,
};
use crate::import::{GraphOutline, NodeOutline, Refusal, TensorOutline, Verdict};

/// Operators whose results have extents that depend on the values of operands.
const DYNAMIC: [&str; 4] = ["WHERE", "UNIQUE", "IF", "WHILE"];

/// Operators that read extents, axes or paddings from operands after the first.
const DYNAMIC_BY_LATER_OPERANDS: [&str; 26] = [
    "RESHAPE",
    "RESIZE_BILINEAR",
    "PAD",
    "BATCH_TO_SPACE_ND",
    "SPACE_TO_BATCH_ND",
    "MEAN",
    "STRIDED_SLICE",
    "TOPK_V2",
    "PADV2",
    "SLICE",
    "TILE",
    "EXPAND_DIMS",
    "SUM",
    "REDUCE_PROD",
    "REDUCE_MAX",
    "ONE_HOT",
    "REDUCE_MIN",
    "REDUCE_ANY",
    "RESIZE_NEAREST_NEIGHBOR",
    "MIRROR_PAD",
    "SPLIT_V",
    "NON_MAX_SUPPRESSION_V4",
    "NON_MAX_SUPPRESSION_V5",
    "BROADCAST_TO",
    "REDUCE_ALL",
    "RFFT2D",
];

/// Operators that read extents from any operand.
const DYNAMIC_BY_ANY_OPERAND: [&str; 10] = [
    "TRANSPOSE_CONV",
    "CONV_3D_TRANSPOSE",
    "SPARSE_TO_DENSE",
    "FILL",
    "RANGE",
    "SCATTER_ND",
    "SEGMENT_SUM",
    "RANDOM_STANDARD_NORMAL",
    "RANDOM_UNIFORM",
    "MULTINOMIAL",
];

/// Operators whose results follow from the extents of their operand, which the runtime knows before a run.
const EXTENTS: [&str; 2] = ["SHAPE", "RANK"];

/// Operators of variables. They are taken together, because the values that a delegate keeps are its own.
const OF_VARIABLES: [&str; 4] = ["ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"];

/// Operators that the runtime keeps in the file's order, because they may have side effects.
const IN_ORDER: [&str; 10] = [
    "IF",
    "WHILE",
    "CALL_ONCE",
    "VAR_HANDLE",
    "READ_VARIABLE",
    "ASSIGN_VARIABLE",
    "HASHTABLE",
    "HASHTABLE_FIND",
    "HASHTABLE_IMPORT",
    "HASHTABLE_SIZE",
];

/// The nodes of a graph, taken in the sets that the runtime forms.
pub(super) struct TfLiteRules<'g> {
    graph: &'g GraphOutline,
    min_operations: u64,
    refusals: Vec<Option<Refusal>>,
    /// Marks readable nodes that compute from constants alone. The delegate computes them when it compiles their
    /// readers.
    constant: Vec<bool>,
    borders: Borders,
}

impl<'g> TfLiteRules<'g> {
    /// Begins with all nodes that the importer accepts.
    pub(super) fn new(graph: &'g GraphOutline, min_operations: u64) -> Self {
        let refusals: Vec<Option<Refusal>> = graph.nodes.iter().map(|node| refused(&node.verdict)).collect();
        let mut has_known_value: Vec<bool> = graph.tensors.iter().map(|tensor| tensor.constant).collect();
        let mut constant = Vec::with_capacity(graph.nodes.len());
        for (node, refusal) in graph.nodes.iter().zip(&refusals) {
            let reads_extents = EXTENTS.contains(&node.operator.as_str());
            let is_known =
                |&tensor: &usize| has_known_value[tensor] || reads_extents && !is_dynamic(&graph.tensors[tensor]);
            let all = !node.inputs.is_empty() && node.inputs.iter().all(is_known);
            constant.push(all && refusal.is_none());
            // Also for refused nodes: a node that reads only constants computes a constant, whoever runs it.
            node.outputs.iter().for_each(|&tensor| has_known_value[tensor] |= all);
        }
        let borders = borders(graph, &constant);
        Self { graph, min_operations, refusals, constant, borders }
    }

    /// Leaves nodes that read tensors whose extents the runtime learns only during a run.
    fn leave_what_reads_unknown_extents(&mut self) {
        let mut unknown: Vec<bool> = self.graph.tensors.iter().map(is_dynamic).collect();
        for (node, refusal) in self.graph.nodes.iter().zip(&mut self.refusals) {
            let read = node.inputs.iter().find(|&&tensor| unknown[tensor]);
            if let Some(&tensor) = read {
                let name = &self.graph.tensors[tensor].name;
                refusal.get_or_insert_with(|| Refusal {
                    reason: format!("extents of `{name}` are known only while the model runs"),
                    hint: "convert it with fixed shapes".to_owned(),
                });
            }
            if read.is_some() || refusal.is_some() && dynamic(node, self.graph) {
                node.outputs.iter().for_each(|&tensor| unknown[tensor] = true);
            }
        }
    }

    /// Leaves all operators of variables if one of them is left. Returns whether there are any to leave.
    fn leave_variables_together(&mut self) -> bool {
        let left = self.of_variables().into_iter().find_map(|node| self.refusals[node].clone());
        left.is_some_and(|left| self.leave_variables(&left))
    }

    /// Leaves all operators of variables. Returns whether there are any to leave.
    fn leave_variables(&mut self, refusal: &Refusal) -> bool {
        let mut any = false;
        for node in self.of_variables() {
            any |= self.leave(node, refusal.clone());
        }
        any
    }

    fn of_variables(&self) -> Vec<usize> {
        (0..self.graph.nodes.len()).filter(|&node| is_of_variable(&self.graph.nodes[node])).collect()
    }

    /// A delegate does not return constants, so the runtime computes those that it reads.
    fn leave_constants_that_are_read(&mut self) {
        let mut is_read = vec![false; self.graph.tensors.len()];
        self.graph.outputs.iter().for_each(|&tensor| is_read[tensor] = true);
        // Backwards: readers of a constant come after its producer, and a producer that is left reads others.
        for (index, node) in self.graph.nodes.iter().enumerate().rev() {
            if self.constant[index] && node.outputs.iter().any(|&tensor| is_read[tensor]) {
                self.refusals[index].get_or_insert_with(|| Refusal {
                    reason: "its result is a constant that the runtime reads".to_owned(),
                    hint: "it is computed once".to_owned(),
                });
            }
            if self.refusals[index].is_some() {
                node.inputs.iter().for_each(|&tensor| is_read[tensor] = true);
            }
        }
    }
}

/// Returns the facts about borders, if these nodes compute constants.
fn borders(graph: &GraphOutline, constant_nodes: &[bool]) -> Borders {
    let mut constant: Vec<bool> = graph.tensors.iter().map(|tensor| tensor.constant).collect();
    let computed = graph.nodes.iter().zip(constant_nodes).filter(|(_, constant)| **constant);
    computed.flat_map(|(node, _)| &node.outputs).for_each(|&tensor| constant[tensor] = true);
    // The runtime also runs the nodes that compute constants.
    Borders { known_nodes: vec![false; graph.nodes.len()], constant_nodes: constant_nodes.to_vec(), constant }
}

impl Rules for TfLiteRules<'_> {
    fn taken_nodes(&mut self) -> Vec<bool> {
        self.leave_what_reads_unknown_extents();
        if self.leave_variables_together() {
            self.leave_what_reads_unknown_extents();
        }
        self.leave_constants_that_are_read();
        self.refusals.iter().map(Option::is_none).collect()
    }

    fn sets(&self, is_taken: &[bool]) -> Vec<Vec<usize>> {
        let graph = self.graph;
        let mut waits = waits(graph, &self.borders.known_nodes);
        let ordered = graph.nodes.iter().enumerate().filter(|(_, node)| IN_ORDER.contains(&node.operator.as_str()));
        let ordered: Vec<usize> = ordered.map(|(index, _)| index).collect();
        ordered.windows(2).for_each(|pair| waits[pair[1]].push(pair[0]));
        sets(&waits, is_taken, FirstTurn::FirstNode)
    }

    fn partition(&self, nodes: Vec<usize>) -> Partition {
        self.borders.partition(self.graph, nodes)
    }

    fn unworthy(&self, partition: &Partition) -> Option<Refusal> {
        let computed = self.constant.iter().filter(|constant| !**constant).count();
        let whole = partition.nodes.iter().filter(|&&node| !self.constant[node]).count() == computed;
        too_small(work(self.graph, partition), whole, self.min_operations)
    }

    fn leave_divided(&mut self, partitions: &[Partition]) -> bool {
        let (nodes, mut is_handle) = (&self.graph.nodes, vec![false; self.graph.tensors.len()]);
        let handles = nodes.iter().filter(|node| node.operator == "VAR_HANDLE").flat_map(|node| &node.outputs);
        handles.for_each(|&tensor| is_handle[tensor] = true);
        let has_any = |set: &[usize]| set.iter().any(|&node| is_of_variable(&nodes[node]));
        let keepers: Vec<&Partition> = partitions.iter().filter(|partition| has_any(&partition.nodes)).collect();
        let reason = match keepers[..] {
            [] => return false,
            [keeper] if !keeper.outputs.iter().any(|&tensor| is_handle[tensor]) => return false,
            [_] => "one of the variables is handed to a node that is left",
            _ => "nodes that are left lie between those of the variables",
        };
        let refusal = Refusal { reason: reason.to_owned(), hint: "the runtime keeps all of them".to_owned() };
        self.leave_variables(&refusal)
    }

    fn leave(&mut self, node: usize, refusal: Refusal) -> bool {
        let new = self.refusals[node].is_none();
        self.refusals[node].get_or_insert(refusal);
        new
    }

    /// The runtime computes a constant that the delegate cannot compute, and hands it over.
    fn refuse(&mut self, node: usize, refusal: Refusal) -> bool {
        let constant = std::mem::replace(&mut self.constant[node], false);
        if constant {
            self.borders = borders(self.graph, &self.constant);
        }
        self.leave(node, refusal) || constant
    }

    fn selection(&self, partitions: Vec<Partition>) -> Selection {
        let others = self.refusals.iter().map(|refusal| NodeStanding::Left(refusal.clone().unwrap_or_else(circular)));
        Selection::new(partitions, others.collect())
    }
}

fn refused(verdict: &Verdict) -> Option<Refusal> {
    match verdict {
        Verdict::Computed | Verdict::Passed | Verdict::Known => None,
        Verdict::Refused(refusal) | Verdict::Unknown(refusal) => Some(refusal.clone()),
    }
}

/// Returns true if the runtime learns extents of a tensor only during a run.
fn is_dynamic(tensor: &TensorOutline) -> bool {
    tensor.dims.as_ref().is_some_and(|dims| dims.contains(&None))
}

fn is_of_variable(node: &NodeOutline) -> bool {
    OF_VARIABLES.contains(&node.operator.as_str())
}

/// Returns true for a single value, which the runtime takes for a tensor of unknown extents if a variable holds it.
fn has_no_axes(tensor: &TensorOutline) -> bool {
    tensor.dims.as_ref().is_some_and(Vec::is_empty)
}

/// Returns true if a node that is left to the runtime may have results with extents known only during a run.
fn dynamic(node: &NodeOutline, graph: &GraphOutline) -> bool {
    let operator = node.operator.as_str();
    let computed = |tensor: &usize| !graph.tensors[*tensor].constant;
    operator.starts_with("CUSTOM")
        || DYNAMIC.contains(&operator)
        || operator == "READ_VARIABLE" && node.outputs.iter().any(|&tensor| has_no_axes(&graph.tensors[tensor]))
        || DYNAMIC_BY_LATER_OPERANDS.contains(&operator) && node.inputs.iter().skip(1).any(computed)
        || DYNAMIC_BY_ANY_OPERAND.contains(&operator) && node.inputs.iter().any(computed)
}
