//! What a rule is: a name, what it does to numbers, and a look at one node.

use super::{edit::Verdict, numerics::Numerics, site::Site};
use crate::graph::NodeId;

/// A rule: looks at one node of the graph, and changes it, leaves it or has nothing to do with it.
pub struct Rule {
    /// What it is switched on and off by.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What it does to the numbers.
    pub numerics: Numerics,
    /// Which way it goes through the nodes, so that one change leads to the next in one sweep.
    pub(super) order: Order,
    pub(super) look: fn(&Site, NodeId) -> Verdict,
}

/// Which way a rule goes through the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// From those that come first in a run.
    Forward,
    /// From those that come last.
    Backward,
}
