//! What a rule is: a name, what it does to numbers, and a function that proposes an edit for one node.

use super::{context::RewriteContext, edit::Proposal, numerics::Numerics};
use crate::graph::NodeId;

/// A rewriting rule: looks at one node of the graph at a time, and proposes an edit or says why it does not.
pub struct Rule {
    /// What it is switched on and off by.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What it does to the numbers.
    pub numerics: Numerics,
    /// Which way it goes through the nodes, so that one change leads to the next in one sweep.
    pub(super) order: Order,
    pub(super) propose: fn(&RewriteContext, NodeId) -> Proposal,
}

/// Which way a rule goes through the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// From those that come first in a run.
    Forward,
    /// From those that come last.
    Backward,
}
