//! The other graphs of a model that name variables: those that give them first values, and those that use them, too.

use crate::{
    abi::code,
    graph::{Node, Tensors},
    host::Host,
};

/// Another graph of the model.
#[derive(Clone, Debug)]
pub(crate) struct OtherGraph {
    /// Index of the graph in the model.
    pub(crate) index: i32,
    host: Host,
    /// All nodes of a graph of first values; of other graphs those that name variables.
    pub(crate) nodes: Vec<Node>,
}

// SAFETY: the graph is only accessed in calls of the runtime, which uses a model in one thread at a time.
unsafe impl Send for OtherGraph {}

impl OtherGraph {
    /// Reads the other graphs, as far as the variables of these nodes depend on them. There are none if no node names
    /// a variable.
    pub(crate) fn read(host: &Host, nodes: &[Node]) -> Result<Vec<Self>, String> {
        if !nodes.iter().any(|node| [code::CALL_ONCE, code::VAR_HANDLE].contains(&node.code)) {
            return Ok(Vec::new());
        }
        let mut others = Vec::new();
        for index in 0..i32::MAX {
            let is_called = nodes.iter().any(|node| node.calls_once() == Some(index));
            let Some(nodes) = host.with_graph(index, |other| nodes_of(&other, is_called))? else { break };
            let (other, nodes) = nodes?;
            if other.address() != host.address() && (is_called || !nodes.is_empty()) {
                others.push(Self { index, host: other, nodes });
            }
        }
        Ok(others)
    }

    /// Returns those of the graphs that the nodes call for first values.
    pub(crate) fn called<'n>(others: &[Self], nodes: impl IntoIterator<Item = &'n Node>) -> Vec<Self> {
        let called: Vec<i32> = nodes.into_iter().filter_map(Node::calls_once).collect();
        others.iter().filter(|other| called.contains(&other.index)).cloned().collect()
    }

    pub(crate) fn tensors(&self) -> Tensors<'_> {
        Tensors::read(&self.host, &self.nodes)
    }

    /// Returns the address that identifies the graph.
    pub(crate) fn address(&self) -> usize {
        self.host.address()
    }
}

/// Reads nodes in the file's order, also those that a delegate has replaced.
fn nodes_of(host: &Host, all: bool) -> Result<(Host, Vec<Node>), String> {
    let nodes = (0..host.node_count()).map(|index| Node::read(host, index)).collect::<Result<Vec<_>, _>>()?;
    let is_read = |node: &Node| if all { node.code != code::DELEGATE } else { node.code == code::VAR_HANDLE };
    Ok((*host, nodes.into_iter().filter(is_read).collect()))
}
