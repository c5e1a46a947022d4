//! Selects the nodes of a graph to take: those that texpool's importer accepts, read in the sets that the runtime
//! will turn into kernels.

use std::collections::{BTreeMap, BTreeSet};

use texpool::{
    ImportOptions,
    delegate::{Work, too_small},
};

use crate::{
    abi::code,
    dynamic::known_only_while_running,
    graph::{Node, Tensors, of_constants},
    host::{Host, Partition},
    read::{Readable, Refusal, read},
    ready::{NotComputed, Prepare, make_ready},
};

/// The nodes that are taken from a graph, and those that are left.
#[derive(Debug)]
pub(crate) struct Selection {
    pub(crate) taken: Vec<i32>,
    pub(crate) left: BTreeMap<i32, Refusal>,
    pub(crate) parts: Vec<Part>,
    /// Subset of `left`: nodes that the importer accepts, but that this device cannot compute.
    pub(crate) beyond_device: BTreeSet<i32>,
}

/// A set of nodes that become one kernel.
#[derive(Debug)]
pub(crate) struct Part {
    /// The set, as the runtime defines it.
    pub(crate) partition: Partition,
    /// Nodes to compute, in execution order: those of the set, and constant nodes that they read.
    pub(crate) nodes: Vec<Node>,
    /// Results of these nodes that other nodes read.
    pub(crate) outputs: Vec<i32>,
    /// The nodes as a model. `None` if all of them are constant, so that nothing is left to compute.
    pub(crate) readable: Option<Readable>,
}

/// State of the selection for a graph.
struct Search<'g, 'h> {
    nodes: &'g [Node],
    tensors: &'g Tensors<'h>,
    options: &'g ImportOptions,
    min_operations: u64,
    /// Marks the nodes that compute from constants alone.
    constant: Vec<bool>,
    /// Constant nodes that the importer refuses, so that their results must come from the runtime.
    unreadable: BTreeSet<i32>,
    graph_outputs: BTreeSet<i32>,
    left: BTreeMap<i32, Refusal>,
    beyond_device: BTreeSet<i32>,
    /// Models put on the device in an earlier round, with their nodes and outputs.
    kept: Vec<(Vec<Node>, Vec<i32>, Readable)>,
}

/// Selects nodes. Terminates, because each round leaves at least one more node.
pub(crate) fn select(
    host: &Host,
    nodes: &[Node],
    tensors: &Tensors<'_>,
    options: &ImportOptions,
    min_operations: u64,
    prepare: &Prepare<'_>,
) -> Result<Selection, String> {
    let all: Vec<i32> = nodes.iter().map(|node| node.index).collect();
    let graph_outputs = host.preview(&all)?.into_iter().flat_map(|partition| partition.outputs).collect();
    let mut search = Search {
        nodes,
        tensors,
        options,
        min_operations,
        constant: of_constants(nodes, tensors),
        unreadable: BTreeSet::new(),
        graph_outputs,
        left: BTreeMap::new(),
        beyond_device: BTreeSet::new(),
        kept: Vec::new(),
    };
    loop {
        search.leave_what_follows();
        let taken = search.taken();
        let partitions = if taken.is_empty() { Vec::new() } else { host.preview(&taken)? };
        match search.ready_parts(partitions, prepare)? {
            Ok(parts) => {
                let Search { left, beyond_device, .. } = search;
                return Ok(Selection { taken, left, parts, beyond_device });
            }
            Err(refusals) => {
                let before = search.decided();
                refusals.into_iter().for_each(|refusal| search.leave(refusal));
                if search.decided() == before {
                    return Err("a defect of texpool: the same nodes are refused again".to_owned());
                }
            }
        }
    }
}

impl Search<'_, '_> {
    fn is_left(&self, node: &Node) -> bool {
        self.left.contains_key(&node.index)
    }

    /// Returns the number of decisions, which never decreases.
    fn decided(&self) -> usize {
        self.left.len() + self.unreadable.len()
    }

    fn taken(&self) -> Vec<i32> {
        self.nodes.iter().filter(|node| !self.is_left(node)).map(|node| node.index).collect()
    }

    fn leave(&mut self, refusal: Refusal) {
        let of_constants = self.nodes.iter().zip(&self.constant).find(|(node, _)| node.index == refusal.node);
        if of_constants.is_some_and(|(_, constant)| *constant) {
            self.unreadable.insert(refusal.node);
        }
        self.left.entry(refusal.node).or_insert(refusal);
    }

    /// Leaves nodes that cannot be taken because of other nodes that are left.
    fn leave_what_follows(&mut self) {
        let nodes = self.nodes;
        // Tensors whose extents even the runtime only learns while it runs.
        let mut dynamic: BTreeSet<i32> =
            self.tensors.iter().filter(|(_, tensor)| tensor.dynamic).map(|(index, _)| index).collect();
        for node in nodes {
            let read = node.inputs.iter().find(|index| dynamic.contains(index));
            if node.code == code::DELEGATE {
                self.leave_because(node, "another delegate has taken it".to_owned());
            } else if let Some(name) = read.map(|index| self.name(*index)) {
                let reason =
                    format!("extents of `{name}` are known only while the model runs; convert it with fixed shapes");
                self.leave_because(node, reason);
                dynamic.extend(&node.outputs);
            } else if self.is_left(node) && known_only_while_running(node, self.tensors) {
                dynamic.extend(&node.outputs);
            }
        }
        // A kernel cannot provide constants at preparation time. A taken reader has computed them when it was
        // compiled; for other readers, the runtime must compute them. Iterate backwards, because leaving a node also
        // leaves those that it reads.
        for (node, _) in nodes.iter().zip(self.constant.clone()).rev().filter(|(_, constant)| *constant) {
            let read_by_left = nodes
                .iter()
                .filter(|reader| reader.inputs.iter().any(|index| node.outputs.contains(index)))
                .any(|reader| self.is_left(reader));
            if read_by_left || node.outputs.iter().any(|index| self.graph_outputs.contains(index)) {
                self.leave_because(node, "its result is a constant that the runtime reads".to_owned());
            }
        }
    }

    fn leave_because(&mut self, node: &Node, reason: String) {
        self.left.entry(node.index).or_insert(Refusal { node: node.index, operator: None, reason });
    }

    fn name(&self, index: i32) -> String {
        self.tensors.get(index).map(|tensor| tensor.name.clone()).unwrap_or_default()
    }

    /// Reads each set of nodes that the runtime would turn into a kernel.
    fn parts(&self, partitions: Vec<Partition>) -> Result<Vec<Part>, Vec<Refusal>> {
        let (mut parts, mut refusals) = (Vec::new(), Vec::new());
        for partition in partitions {
            match self.part(partition) {
                Ok(part) => parts.push(part),
                Err(refused) => refusals.extend(refused),
            }
        }
        if refusals.is_empty() { Ok(parts) } else { Err(refusals) }
    }

    /// Reads each set of nodes and puts it on the device.
    fn ready_parts(
        &mut self,
        partitions: Vec<Partition>,
        prepare: &Prepare<'_>,
    ) -> Result<Result<Vec<Part>, Vec<Refusal>>, String> {
        let mut parts = match self.parts(partitions) {
            Ok(parts) => parts,
            Err(refusals) => return Ok(Err(refusals)),
        };
        // Drop models that are not needed in this round first, to make room.
        let mut kept = std::mem::take(&mut self.kept);
        kept.retain(|(nodes, outputs, _)| parts.iter().any(|part| part.nodes == *nodes && part.outputs == *outputs));
        let mut refusals = Vec::new();
        for part in &mut parts {
            let same = |(nodes, outputs, _): &(Vec<Node>, Vec<i32>, Readable)| {
                part.nodes == *nodes && part.outputs == *outputs
            };
            if let Some(at) = kept.iter().position(same) {
                part.readable = Some(kept.swap_remove(at).2);
            }
            let Some(readable) = &mut part.readable else { continue };
            let nodes: Vec<&Node> = part.nodes.iter().collect();
            match make_ready(readable, &nodes, prepare) {
                Ok(()) => {}
                Err(NotComputed::Refused(refused)) => refusals.extend(refused),
                Err(NotComputed::Failed(reason)) => return Err(reason),
            }
        }
        if refusals.is_empty() {
            return Ok(Ok(parts));
        }
        self.beyond_device.extend(refusals.iter().map(|refusal| refusal.node));
        let ready = parts.into_iter().filter_map(|part| Some((part.nodes, part.outputs, part.readable?)));
        self.kept = ready.filter(|(_, _, readable)| readable.ready.is_some()).collect();
        Ok(Err(refusals))
    }

    fn part(&self, partition: Partition) -> Result<Part, Vec<Refusal>> {
        let nodes: Vec<&Node> = self.with_constants(&partition);
        let of_constants: BTreeSet<i32> = self.constants().flat_map(|node| node.outputs.iter().copied()).collect();
        let outputs: Vec<i32> =
            partition.outputs.iter().copied().filter(|index| !of_constants.contains(index)).collect();
        let readable = match outputs.is_empty() {
            true => None,
            false => Some(read(&nodes, self.tensors, &outputs, self.options)?),
        };
        if let Some(reason) = readable.as_ref().and_then(|readable| self.too_small(&nodes, readable)) {
            let refusal = |&node: &i32| Refusal { node, operator: None, reason: reason.clone() };
            return Err(partition.nodes.iter().map(refusal).collect());
        }
        Ok(Part { partition, nodes: nodes.into_iter().cloned().collect(), outputs, readable })
    }

    /// Returns the reason if a part has less work than a call of the device costs.
    fn too_small(&self, nodes: &[&Node], readable: &Readable) -> Option<String> {
        let inside: BTreeSet<i32> = nodes.iter().map(|node| node.index).collect();
        let mut others = self.nodes.iter().zip(&self.constant).filter(|(node, _)| !inside.contains(&node.index));
        let whole = others.all(|(_, constant)| *constant);
        let refusal = too_small(Work::of(readable.model.graph()), whole, self.min_operations)?;
        Some(format!("{}; {}", refusal.reason, refusal.hint))
    }

    /// Returns the constant nodes that the importer accepts.
    fn constants(&self) -> impl Iterator<Item = &Node> {
        let readable = |node: &Node| !self.unreadable.contains(&node.index);
        self.nodes
            .iter()
            .zip(&self.constant)
            .filter(move |(node, constant)| **constant && readable(node))
            .map(|(n, _)| n)
    }

    /// Returns the nodes of a partition, and the constant nodes that they read, in execution order.
    fn with_constants(&self, partition: &Partition) -> Vec<&Node> {
        let mut wanted: BTreeSet<i32> = partition.nodes.iter().copied().collect();
        let mut read: BTreeSet<i32> = BTreeSet::new();
        // Iterate backwards, because a constant is computed before it is read.
        for node in self.nodes.iter().rev() {
            let computes = self.constants().any(|constant| constant.index == node.index)
                && node.outputs.iter().any(|index| read.contains(index));
            if computes {
                wanted.insert(node.index);
            }
            if wanted.contains(&node.index) {
                read.extend(&node.inputs);
            }
        }
        self.nodes.iter().filter(|node| wanted.contains(&node.index)).collect()
    }
}
