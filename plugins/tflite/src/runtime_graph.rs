//! A graph of the runtime, with everything on which the selection of its nodes depends.

use crate::{
    graph::{Node, Tensors},
    host::Host,
    other_graph::OtherGraph,
};

/// A graph of the runtime.
#[derive(Debug)]
pub(crate) struct RuntimeGraph<'h> {
    pub(crate) host: &'h Host,
    /// Nodes in execution order.
    pub(crate) nodes: Vec<Node>,
    pub(crate) tensors: Tensors<'h>,
    pub(crate) others: Vec<OtherGraph>,
}

impl<'h> RuntimeGraph<'h> {
    /// Reads a graph whose nodes run in the order of the plan.
    pub(crate) fn read(host: &'h Host, plan: &[i32]) -> Result<Self, String> {
        let nodes = plan.iter().map(|&index| Node::read(host, index)).collect::<Result<Vec<_>, _>>()?;
        let (tensors, others) = (Tensors::read(host, &nodes), OtherGraph::read(host, &nodes)?);
        Ok(Self { host, nodes, tensors, others })
    }
}
