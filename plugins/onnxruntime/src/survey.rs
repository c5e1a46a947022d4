//! Finds out which nodes of a graph texpool can take, with texpool's own function, to which the graph is given as a
//! model. The reason reported for a node that is left is the importer's message.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use texpool::{Error, ImportError, ImportOptions, Model, Uncomputable, graph};
use texpool_model::{
    delegate::{Live, NodeStanding, Partition, select},
    import::{self, FakeQuant, GraphOutline, OutlineSource, Refusal, Verdict},
};

use crate::{
    extents,
    graph::{Extent, Graph, Node, NodeIndex, Part},
    onnx,
};

/// Hint for nodes that are left whatever the model's owner does.
const LEFT: &str = "the runtime computes it";

/// The nodes of a graph that are taken, and those that are left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    pub(crate) parts: Vec<Part>,
    /// Nodes that are left, each with the reason.
    pub(crate) refusals: BTreeMap<NodeIndex, String>,
    /// Subset of `refusals`: nodes that the importer accepts, but that this device cannot compute.
    pub(crate) beyond_device: BTreeSet<NodeIndex>,
    /// Unknown extents that the user has not given, with the guesses for them, in the syntax of the option `dim`.
    pub(crate) guessed: Vec<String>,
}

/// Options for reading models.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// Extents that the user has given, by name.
    pub(crate) dims: BTreeMap<String, usize>,
    pub(crate) fake_quant: FakeQuant,
    /// Fewest elementary operations of a part, unless the part is the whole graph.
    pub(crate) min_operations: u64,
}

/// Reads a model that was written for a part. Constants are not copied out of `bytes`.
pub(crate) fn read(bytes: &Arc<Vec<u8>>, dims: BTreeMap<String, usize>, fake_quant: FakeQuant) -> Result<Model, Error> {
    let options = ImportOptions { dims, fake_quant, ..ImportOptions::default() };
    let owner = Arc::<Vec<u8>>::clone(bytes);
    Model::from_graph(import::from_bytes_with(owner, &options)?)
}

/// Compiles nodes that the importer accepted. If they cannot be computed on the device, returns which and why.
pub(crate) type TryCompile<'c> = dyn Fn(&Graph<'_>, &Part, &Model) -> Option<(Uncomputable, String)> + 'c;

/// Finds out which nodes can be taken.
pub(crate) fn survey(graph: &Graph<'_>, reading: &Reading, compile: &TryCompile<'_>) -> Survey {
    let options = ImportOptions {
        dims: extents::bound(graph, &reading.dims),
        fake_quant: reading.fake_quant,
        ..ImportOptions::default()
    };
    let source = OutlineSource::from_bytes(Arc::new(onnx::whole(graph)), &options);
    let mut loaded = LoadedGraph { graph, compile, beyond_device: BTreeSet::new() };
    let (mut survey, standings) = match select(&source, reading.min_operations, &mut loaded) {
        Ok((mut outline, mut selections)) => match (outline.graphs.pop(), selections.pop()) {
            (Some(outlined), Some(selection)) => {
                let parts = selection.partitions.into_iter().map(|partition| graph.part(partition.nodes)).collect();
                let mut guessed: Vec<String> =
                    outlined.open.into_iter().map(|open| format!("{}={}", open.name, open.tried)).collect();
                guessed.dedup();
                (Survey { parts, guessed, ..Survey::default() }, selection.standings)
            }
            _ => return Survey::default(),
        },
        Err(error) => {
            let refusal = Refusal { reason: error.to_string(), hint: LEFT.to_owned() };
            (Survey::default(), vec![NodeStanding::Left(refusal); graph.nodes.len()])
        }
    };
    for (index, standing) in standings.into_iter().enumerate().filter(|(index, _)| !graph.nodes[*index].assigned) {
        let why = match standing {
            NodeStanding::Taken(_) => continue,
            NodeStanding::Known => "its result follows from extents; it costs the runtime next to nothing".to_owned(),
            NodeStanding::Left(refusal) | NodeStanding::Unknown(refusal) => {
                format!("{}; {}", refusal.reason, refusal.hint)
            }
        };
        survey.refusals.insert(index, why);
    }
    Survey { beyond_device: loaded.beyond_device, ..survey }
}

/// The runtime's graph while its nodes are selected.
struct LoadedGraph<'a, 'g> {
    graph: &'a Graph<'g>,
    compile: &'a TryCompile<'a>,
    beyond_device: BTreeSet<NodeIndex>,
}

impl Live for LoadedGraph<'_, '_> {
    type Error = ImportError;

    /// Nodes that the runtime still has are its own to compute.
    fn folds_constants(&self) -> bool {
        false
    }

    fn complete(&mut self, outline: &mut GraphOutline) {
        let nodes = &self.graph.nodes;
        // The tensors of both, in the order in which nodes name them.
        let tensors = |outlined: &import::NodeOutline| [&outlined.inputs[..], &outlined.outputs].concat();
        let values = |node: &Node| [&node.inputs[..], &node.outputs].concat().into_iter().flatten().collect::<Vec<_>>();
        let pairs = nodes.iter().zip(&outline.nodes);
        let tensors: HashMap<_, _> =
            pairs.flat_map(|(node, outlined)| values(node).into_iter().zip(tensors(outlined))).collect();
        for (node, outlined) in nodes.iter().zip(&mut outline.nodes) {
            // Bodies of control flow are not written.
            outlined.implicit = node.implicit.iter().filter_map(|value| tensors.get(value).copied()).collect();
            if let Some(reason) = self.unfit(node) {
                outlined.verdict = Verdict::Refused(Refusal { reason, hint: LEFT.to_owned() });
            }
        }
    }

    fn compile(&mut self, partition: &Partition, graph: graph::Graph) -> Result<Vec<(usize, Refusal)>, ImportError> {
        let nodes = &partition.nodes;
        let refused = match Model::from_graph(graph) {
            Err(error) => Some((Uncomputable::Model, error.to_string())),
            Ok(model) => {
                let refused = (self.compile)(self.graph, &self.graph.part(nodes.clone()), &model);
                refused.inspect(|(refused, _)| self.beyond_device.extend(named(partition, refused)))
            }
        };
        let Some((refused, reason)) = refused else { return Ok(Vec::new()) };
        let refusal = Refusal { reason, hint: LEFT.to_owned() };
        Ok(named(partition, &refused).into_iter().map(|node| (node, refusal.clone())).collect())
    }
}

/// Returns the nodes that cannot be computed.
fn named(partition: &Partition, refused: &Uncomputable) -> Vec<NodeIndex> {
    let node = match refused {
        Uncomputable::Node(position) => partition.computed.get(*position),
        Uncomputable::Model => None,
    };
    node.map_or_else(|| partition.nodes.clone(), |&node| vec![node])
}

impl LoadedGraph<'_, '_> {
    /// Returns why a node must be left whatever the importer says, if that is so.
    fn unfit(&self, node: &Node) -> Option<String> {
        if node.assigned {
            return Some("it is another provider's".to_owned());
        }
        let of_values = |role: &str, values: &[Option<usize>]| {
            values.iter().flatten().map(|&value| &self.graph.values[value]).find_map(|value| match &value.dims {
                _ if value.kind == 0 => {
                    Some(format!("its {role} `{}` is no tensor, or one whose type is not known", value.name))
                }
                Some(dims) if value.constant.is_none() && dims.contains(&Extent::Known(0)) => {
                    Some(format!("its {role} `{}` has no elements", value.name))
                }
                _ => None,
            })
        };
        let unreadable = node.unreadable.clone();
        unreadable.or_else(|| of_values("operand", &node.inputs)).or_else(|| of_values("result", &node.outputs))
    }
}

#[cfg(test)]
mod tests;
