//! Report of the rewriter: the changes it made, and the places it left unchanged.

use std::fmt;

use super::SkipReason;
use texpool_ops::graph::{Graph, Node};
use texpool_plan::printable;

/// Identifies a node for the reader of a report.
///
/// ```
/// use texpool::rewrite::{Rules, rewrite};
/// use texpool::graph::{GraphBuilder, Unary};
///
/// let mut b = GraphBuilder::new("twice");
/// let x = b.input("x", &[1, 8, 8, 3])?;
/// let once = b.unary("once", Unary::Relu, x)?;
/// let twice = b.unary("twice", Unary::Relu, once)?;
/// let report = rewrite(&b.finish(&[twice])?, &Rules::exact()).report;
/// assert_eq!(report.fired[0].location.to_string(), "node 1 (RELU, `twice`)");
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
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
///
/// ```
/// use texpool::rewrite::{Rules, rewrite};
/// use texpool::graph::{Act, GraphBuilder, Unary};
///
/// let mut b = GraphBuilder::new("activated");
/// let (x, weights) = (b.input("x", &[1, 64])?, b.constant("weights", &[10, 64], &[0.1; 640])?);
/// let scores = b.fully_connected("scores", x, weights, None, Act::None)?;
/// let positive = b.unary("positive", Unary::Relu, scores)?;
/// let report = rewrite(&b.finish(&[positive])?, &Rules::exact()).report;
/// assert_eq!((report.fired[0].rule, &*report.fired[0].location.tensor), ("activation", "positive"));
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    /// Name of the rule.
    pub rule: &'static str,
    /// The node.
    pub location: Location,
}

/// A place that a rule examined but left unchanged, in the final graph.
///
/// ```
/// use texpool::rewrite::{Rules, SkipReason, rewrite};
/// use texpool::graph::{Act, GraphBuilder, Unary};
///
/// let mut b = GraphBuilder::new("both wanted");
/// let (x, weights) = (b.input("x", &[1, 64])?, b.constant("weights", &[10, 64], &[0.1; 640])?);
/// let scores = b.fully_connected("scores", x, weights, None, Act::None)?;
/// let positive = b.unary("positive", Unary::Relu, scores)?;
/// let report = rewrite(&b.finish(&[scores, positive])?, &Rules::exact()).report;
/// // The layer cannot apply the function, because the caller wants the values before it.
/// assert_eq!((report.missed[0].rule, &*report.missed[0].location.tensor), ("activation", "positive"));
/// assert_eq!(report.missed[0].why, SkipReason::IsOutput { tensor: "scores".to_owned() });
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
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
///
/// ```
/// use texpool::rewrite::{Rules, rewrite};
/// use texpool::graph::{Act, Binary, GraphBuilder};
///
/// let mut b = GraphBuilder::new("chain");
/// let x = b.input("x", &[1, 8, 8, 3])?;
/// let (scale, shift) = (b.constant("scale", &[1], &[2.0])?, b.constant("shift", &[1], &[1.0])?);
/// let once = b.binary("once", Binary::Mul, x, scale, Act::None)?;
/// let twice = b.binary("twice", Binary::Mul, once, scale, Act::None)?;
/// let y = b.binary("y", Binary::Add, twice, shift, Act::None)?;
/// let report = rewrite(&b.finish(&[y])?, &Rules::default()).report;
/// assert_eq!((report.nodes_before, report.nodes_after, report.count("affine-chain")), (3, 1, 1));
/// assert!(report.to_string().starts_with("3 nodes became 1\naffine-chain: node"));
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
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
