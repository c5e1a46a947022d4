//! What the rewriter did and what it left, place by place.

use std::fmt;

use super::SkipReason;
use crate::{
    graph::{Graph, Node},
    plan::printable,
};

/// A node, as a reader of the report knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Index in the model file.
    pub node: usize,
    /// Its operator.
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
    /// The node it looked at.
    pub location: Location,
}

/// A place a rule looked at and left alone, in the graph as it came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Name of the rule.
    pub rule: &'static str,
    /// The node it looked at.
    pub location: Location,
    /// Why it left it.
    pub why: SkipReason,
}

/// What the rewriter did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Changes, in the order they were made.
    pub fired: Vec<Fired>,
    /// Places left alone, rule after rule.
    pub missed: Vec<Missed>,
    /// Nodes of the graph that went in.
    pub nodes_before: usize,
    /// Nodes of the graph that came out, views not counted: the steps of a run.
    pub nodes_after: usize,
}

impl Report {
    /// How often a rule changed something.
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
        for Missed { rule, location, why } in &self.missed {
            writeln!(f, "{rule}: not {location}: {why}")?;
        }
        Ok(())
    }
}
