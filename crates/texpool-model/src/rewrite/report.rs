//! Report of the rewriter: the changes it made, and the places it left unchanged.

use std::fmt;

use super::SkipReason;
use texpool_ops::graph::{Graph, Node};
use texpool_plan::printable;

/// Identifies a node for the reader of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Index of the operator in the model file.
    pub node: usize,
    /// The operator.
    pub op: &'static str,
    /// Name of its result.
    pub tensor: String,
}

impl Location {
    pub(super) fn new(graph: &Graph, node: &Node) -> Self {
        let tensor = graph.tensors[node.output].name.clone();
        Self { node: node.op_index, op: node.op.name(), tensor }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} ({}, `{}`)", self.node, self.op, printable(&self.tensor))
    }
}

/// A place where a rule changed the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    /// Name of the rule.
    pub rule: &'static str,
    /// The node.
    pub location: Location,
}

/// A place that a rule examined but left unchanged, in the final graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Name of the rule.
    pub rule: &'static str,
    /// The node.
    pub location: Location,
    /// The reason.
    pub why: SkipReason,
}

/// List of all changes and of all places left unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Changes, in order.
    pub fired: Vec<Fired>,
    /// Places left unchanged, ordered by rule.
    pub missed: Vec<Skipped>,
    /// Number of nodes in the original graph.
    pub nodes_before: usize,
    /// Number of nodes in the resulting graph without views. These are the steps of a run.
    pub nodes_after: usize,
}

impl Report {
    /// Number of changes made by a rule.
    pub fn count(&self, rule: &str) -> usize {
        self.fired.iter().filter(|fired| fired.rule == rule).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} nodes became {}", self.nodes_before, self.nodes_after)?;
        for Fired { rule, location } in &self.fired {
            writeln!(f, "{rule}: {location}")?;
        }
        for Skipped { rule, location, why } in &self.missed {
            writeln!(f, "{rule}: not {location}: {why}")?;
        }
        Ok(())
    }
}
