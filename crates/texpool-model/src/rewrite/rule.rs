//! Defines a rule: a name, its numerical effect, and a function that proposes an edit for a node.

use super::{context::RewriteContext, edit::Proposal, numerics::Numerics};
use texpool_ops::graph::NodeId;

/// A rewriting rule. It examines one node of the graph at a time, and proposes an edit or gives a reason for not
/// doing so.
///
/// ```
/// use texpool::rewrite::{Numerics, RULES};
///
/// let dead = RULES.iter().find(|rule| rule.name == "dead").unwrap();
/// assert_eq!(dead.numerics, Numerics::Exact);
/// assert_eq!(dead.about, "removes nodes whose results nothing reads");
/// ```
pub struct Rule {
    /// Name that switches the rule on and off.
    pub name: &'static str,
    /// Description, in one line.
    pub about: &'static str,
    /// Numerical effect.
    pub numerics: Numerics,
    /// Order in which the rule visits the nodes, chosen so that one change enables the next within the same sweep.
    pub(super) order: Order,
    pub(super) propose: fn(&RewriteContext, NodeId) -> Proposal,
}

/// Order in which a rule visits the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// From first to last, in execution order.
    Forward,
    /// From last to first.
    Backward,
    /// From first to last, only when no other rule finds anything more.
    Last,
}
