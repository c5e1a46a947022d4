//! Selects the nodes of a graph to take, with texpool's own function, to which the runtime's graph is given as a model.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use texpool::{ImportError, ImportOptions, Uncomputable, graph};
use texpool_model::{
    delegate::{self, Live, NodeStanding},
    import::{GraphOutline, OutlineSource, Refusal, Verdict},
};

use crate::{
    abi::code,
    graph::Node,
    host::Partition,
    other_graph::OtherGraph,
    read::{Readable, read},
    ready::{Prepare, Unready},
    runtime_graph::RuntimeGraph,
    written::{Written, write},
};

/// The nodes that are taken from a graph, and those that are left.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) taken_nodes: Vec<i32>,
    /// Nodes that are left, each with the reason.
    pub(crate) refusals: BTreeMap<i32, String>,
    pub(crate) parts: Vec<Part>,
    /// Subset of `refusals`: nodes that the importer accepts, but that this device cannot compute.
    pub(crate) beyond_device: BTreeSet<i32>,
    /// Operators of all nodes, spelled as in a file.
    pub(crate) operators: BTreeMap<i32, String>,
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
    /// Graphs that give the variables of these nodes their first values.
    pub(crate) first_values: Vec<OtherGraph>,
}

/// The runtime's graph while its nodes are selected.
struct LoadedGraph<'g, 'h> {
    source: &'g RuntimeGraph<'h>,
    options: &'g ImportOptions,
    prepare: &'g Prepare<'g>,
    /// Indices of the model's tensors among the graph's.
    indices: Vec<i32>,
    indescribable: Vec<(usize, Refusal)>,
    /// Models that are on the device.
    compiled: Vec<(delegate::Partition, Readable)>,
    beyond_device: BTreeSet<i32>,
}

/// Reason why a selection ends.
enum SelectionEnd {
    /// The graph is not read as a model, so all of its nodes are left.
    NotRead(ImportError),
    Failed(String),
}

impl From<ImportError> for SelectionEnd {
    fn from(error: ImportError) -> Self {
        Self::NotRead(error)
    }
}

impl Selection {
    /// Takes all nodes of a graph of first values, which name and assign variables. A kernel of another graph holds the
    /// values, so nothing is left to compute.
    pub(crate) fn of_first_values(graph: &RuntimeGraph<'_>) -> Result<Self, String> {
        let RuntimeGraph { host, nodes, .. } = graph;
        let taken_nodes: Vec<i32> = nodes.iter().map(|node| node.index).collect();
        let part = |partition| Part {
            partition,
            nodes: Vec::new(),
            outputs: Vec::new(),
            readable: None,
            first_values: Vec::new(),
        };
        let parts = host.preview(&taken_nodes)?.into_iter().map(part).collect();
        let operator = |node: &Node| if node.code == code::VAR_HANDLE { "VAR_HANDLE" } else { "ASSIGN_VARIABLE" };
        let operators = nodes.iter().map(|node| (node.index, operator(node).to_owned())).collect();
        Ok(Self { taken_nodes, parts, operators, ..Self::default() })
    }
}

/// Selects nodes.
pub(crate) fn select(
    source: &RuntimeGraph<'_>,
    options: &ImportOptions,
    min_operations: u64,
    prepare: &Prepare<'_>,
) -> Result<Selection, String> {
    let RuntimeGraph { host, nodes, tensors, others } = source;
    let all: Vec<i32> = nodes.iter().map(|node| node.index).collect();
    let outputs: Vec<i32> = host.preview(&all)?.into_iter().flat_map(|partition| partition.outputs).collect();
    let Written { bytes, tensors: indices, indescribable, .. } =
        write(&nodes.iter().collect::<Vec<_>>(), tensors, &outputs, others);
    let file = OutlineSource::from_bytes(Arc::new(bytes), options);
    let (compiled, beyond_device) = (Vec::new(), BTreeSet::new());
    let mut loaded = LoadedGraph { source, options, prepare, indices, indescribable, compiled, beyond_device };
    match delegate::select_first(&file, min_operations, &mut loaded) {
        Ok((graph, selection)) => loaded.selection(&graph, &selection),
        Err(SelectionEnd::NotRead(error)) => {
            let refusals = all.into_iter().map(|node| (node, error.to_string())).collect();
            Ok(Selection { refusals, ..Selection::default() })
        }
        Err(SelectionEnd::Failed(reason)) => Err(reason),
    }
}

impl Live for LoadedGraph<'_, '_> {
    type Error = SelectionEnd;

    fn complete(&mut self, graph: &mut GraphOutline) {
        for (tensor, index) in graph.tensors.iter_mut().zip(&self.indices) {
            if self.source.tensors.get(*index).is_some_and(|tensor| tensor.dynamic) {
                tensor.dims = tensor.dims.take().map(|dims| vec![None; dims.len()]);
            }
        }
        let refused = self.indescribable.iter().map(|(position, refusal)| (*position, refusal.clone()));
        let delegated = self.source.nodes.iter().enumerate().filter(|(_, node)| node.code == code::DELEGATE);
        let other = || Refusal {
            reason: "another delegate has taken it".to_owned(),
            hint: "apply this delegate first".to_owned(),
        };
        for (position, refusal) in refused.chain(delegated.map(|(position, _)| (position, other()))) {
            graph.nodes[position].verdict = Verdict::Refused(refusal);
        }
    }

    fn sets(&mut self, is_taken: &[bool]) -> Result<Option<Vec<Vec<usize>>>, SelectionEnd> {
        let partitions = self.preview(is_taken).map_err(SelectionEnd::Failed)?;
        let positions: BTreeMap<i32, usize> = self.source.nodes.iter().map(|node| node.index).zip(0..).collect();
        let set = |partition: &Partition| {
            let mut set: Vec<usize> = partition.nodes.iter().filter_map(|node| positions.get(node).copied()).collect();
            set.sort_unstable();
            set
        };
        Ok(Some(partitions.iter().map(set).collect()))
    }

    fn keep(&mut self, partitions: &[delegate::Partition]) {
        self.compiled.retain(|(partition, _)| partitions.contains(partition));
    }

    /// Reads the nodes from a model of their own, so that no session keeps the constants of nodes that are left.
    fn compile(
        &mut self,
        partition: &delegate::Partition,
        _graph: graph::Graph,
    ) -> Result<Vec<(usize, Refusal)>, SelectionEnd> {
        let nodes: Vec<&Node> = partition.computed.iter().map(|&node| &self.source.nodes[node]).collect();
        let called = OtherGraph::called(&self.source.others, nodes.iter().copied());
        let readable = read(&nodes, &self.source.tensors, &self.outputs(partition), &called, self.options);
        let readable = readable.map_err(Unready::Library).and_then(|mut readable| {
            readable.ready = Some((self.prepare)(&readable.model)?);
            Ok(readable)
        });
        let error = match readable {
            Ok(readable) => {
                self.compiled.push((partition.clone(), readable));
                return Ok(Vec::new());
            }
            Err(error) => error,
        };
        let part = match &error {
            Unready::Library(texpool::Error::Import(_)) => Some(Uncomputable::Model),
            Unready::Library(library) => library.uncomputable(),
            Unready::Other(_) => None,
        };
        let named = match part {
            None => return Err(SelectionEnd::Failed(error.to_string())),
            Some(Uncomputable::Node(position)) => partition.computed.get(position).map(|node| vec![*node]),
            Some(_) => None,
        };
        let refused = named.unwrap_or_else(|| partition.nodes.clone());
        self.beyond_device.extend(refused.iter().map(|&node| self.source.nodes[node].index));
        let refusal = Refusal { reason: error.to_string(), hint: "the runtime computes it".to_owned() };
        Ok(refused.into_iter().map(|node| (node, refusal.clone())).collect())
    }
}

impl LoadedGraph<'_, '_> {
    /// Returns the kernels that the runtime would create for the taken nodes.
    fn preview(&self, is_taken: &[bool]) -> Result<Vec<Partition>, String> {
        let taken_nodes: Vec<i32> = self
            .source
            .nodes
            .iter()
            .zip(is_taken)
            .filter(|(_, is_taken)| **is_taken)
            .map(|(node, _)| node.index)
            .collect();
        if taken_nodes.is_empty() { Ok(Vec::new()) } else { self.source.host.preview(&taken_nodes) }
    }

    fn outputs(&self, partition: &delegate::Partition) -> Vec<i32> {
        partition.outputs.iter().map(|&tensor| self.indices[tensor]).collect()
    }

    /// Converts the selection into the runtime's indices.
    fn selection(mut self, graph: &GraphOutline, selection: &delegate::Selection) -> Result<Selection, String> {
        let is_taken: Vec<bool> =
            selection.standings.iter().map(|standing| matches!(standing, NodeStanding::Taken(_))).collect();
        let previewed = self.preview(&is_taken)?;
        let mut parts = Vec::with_capacity(previewed.len());
        for (selected, partition) in selection.partitions.iter().zip(previewed) {
            let compiled = self.compiled.iter().position(|(compiled, _)| compiled == selected);
            let nodes: Vec<Node> = selected.computed.iter().map(|&node| self.source.nodes[node].clone()).collect();
            parts.push(Part {
                partition,
                first_values: OtherGraph::called(&self.source.others, &nodes),
                nodes,
                outputs: self.outputs(selected),
                readable: compiled.map(|at| self.compiled.swap_remove(at).1),
            });
        }
        let refusal = |(node, standing): (&Node, &NodeStanding)| match standing {
            NodeStanding::Left(Refusal { reason, hint }) | NodeStanding::Unknown(Refusal { reason, hint }) => {
                Some((node.index, format!("{reason}; {hint}")))
            }
            NodeStanding::Taken(_) | NodeStanding::Known => None,
        };
        let operators = graph.nodes.iter().map(|node| node.operator.clone());
        Ok(Selection {
            taken_nodes: (self.source.nodes.iter().zip(&is_taken))
                .filter(|(_, is_taken)| **is_taken)
                .map(|(node, _)| node.index)
                .collect(),
            refusals: self.source.nodes.iter().zip(&selection.standings).filter_map(refusal).collect(),
            parts,
            beyond_device: self.beyond_device,
            operators: self.source.nodes.iter().map(|node| node.index).zip(operators).collect(),
        })
    }
}
