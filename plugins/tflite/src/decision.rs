//! Remembers which nodes of a graph were taken, in case the runtime applies the delegate again.
//!
//! The runtime does so if an input is resized and another delegate cannot follow. It then removes all delegates and
//! applies them anew, before it has recomputed the extents of intermediate tensors. Until then the nodes have
//! inconsistent extents, but they are the same nodes, and can be planned once the runtime is done.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use texpool::ImportOptions;

use crate::{
    graph::Node,
    host::Partition,
    other_graph::OtherGraph,
    ready::Prepare,
    runtime_graph::RuntimeGraph,
    select::{Part, Selection, select},
};

/// Maximum number of graphs to remember. An arbitrary choice; older graphs have probably been deleted.
const REMEMBERED: usize = 8;

/// Decisions by graph.
#[derive(Debug, Default)]
pub(crate) struct Decisions(Mutex<Vec<(usize, Decision)>>);

/// The nodes that were taken from a graph, and those that were left.
#[derive(Clone, Debug)]
struct Decision {
    nodes: Vec<Node>,
    identity: Vec<(i32, i8, usize, usize)>,
    extents: Vec<(i32, Vec<i32>)>,
    taken_nodes: Vec<i32>,
    refusals: BTreeMap<i32, String>,
    parts: Vec<(Partition, Vec<Node>, Vec<i32>)>,
}

impl Decisions {
    /// Selects the nodes of a graph. If an earlier selection took more nodes, and the graph differs only in extents,
    /// returns the earlier one.
    pub(crate) fn select(
        &self,
        graph: &RuntimeGraph<'_>,
        options: &ImportOptions,
        min_operations: u64,
        prepare: &Prepare<'_>,
    ) -> Result<Selection, String> {
        let selection = select(graph, options, min_operations, prepare)?;
        let RuntimeGraph { host, nodes, tensors, others } = graph;
        // A poisoned lock is fine: a panic cannot have left the list inconsistent.
        let mut decisions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = decisions.iter().find(|(graph, _)| *graph == host.address()).map(|(_, decision)| decision);
        let (identity, extents) = (tensors.identity(), tensors.extents());
        let same = |decision: &&Decision| {
            decision.nodes == *nodes && decision.identity == identity && decision.extents != extents
        };
        if let Some(before) =
            before.filter(same).filter(|before| before.taken_nodes.len() > selection.taken_nodes.len())
        {
            return Ok(Selection { operators: selection.operators, ..before.again(others) });
        }
        decisions.retain(|(graph, _)| *graph != host.address());
        if decisions.len() == REMEMBERED {
            decisions.remove(0);
        }
        let decision = Decision {
            nodes: nodes.clone(),
            identity,
            extents,
            taken_nodes: selection.taken_nodes.clone(),
            refusals: selection.refusals.clone(),
            parts: selection.parts.iter().map(|p| (p.partition.clone(), p.nodes.clone(), p.outputs.clone())).collect(),
        };
        decisions.push((host.address(), decision));
        Ok(selection)
    }
}

impl Decision {
    fn again(&self, others: &[OtherGraph]) -> Selection {
        let part = |(partition, nodes, outputs): &(Partition, Vec<Node>, Vec<i32>)| Part {
            partition: partition.clone(),
            first_values: OtherGraph::called(others, nodes),
            nodes: nodes.clone(),
            outputs: outputs.clone(),
            readable: None,
        };
        Selection {
            taken_nodes: self.taken_nodes.clone(),
            refusals: self.refusals.clone(),
            parts: self.parts.iter().map(part).collect(),
            // Already reported.
            beyond_device: BTreeSet::new(),
            operators: BTreeMap::new(),
        }
    }
}
