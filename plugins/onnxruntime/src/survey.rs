//! Finds out which nodes of a graph texpool can take. It passes the nodes to texpool's importer as a model. The
//! reason reported for a node that is left is the importer's message.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use texpool::{
    Error, ImportError, ImportOptions, Model, Uncomputable,
    delegate::{Work, too_small},
    graph::Op,
    import::{self, FakeQuant},
};

use crate::{
    extents,
    graph::{Graph, NodeIndex, Part, ValueId, element_type, type_name},
    groups::groups,
    integers, onnx,
};

/// Maximum number of refused readings, after which all undecided nodes are left.
const MOST_REFUSALS: usize = 256;
/// Maximum number of bytes written for refused readings, since each copies constants. Copying this much takes
/// seconds.
const MOST_BYTES: usize = 16 << 30;

/// The importer's message for an unknown operator.
const NOT_SUPPORTED: &str = "the operator is not supported";

/// The nodes of a graph that are taken, and those that are left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    pub(crate) parts: Vec<Part>,
    /// Nodes that are left, each with the reason.
    pub(crate) left: BTreeMap<NodeIndex, String>,
    /// Subset of `left`: nodes that the importer accepts, but that this device cannot compute.
    pub(crate) beyond_device: BTreeSet<NodeIndex>,
    /// Extent that was tried for unknown heights and widths of images.
    pub(crate) image: usize,
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

/// Finds out which nodes can be taken. Unknown heights and widths of images are tried with several extents, until all
/// nodes can be read; otherwise the extent with the most nodes wins. Only nodes of the winner are compiled.
pub(crate) fn survey(graph: &Graph<'_>, reading: &Reading, compile: &TryCompile<'_>) -> Survey {
    let read = |image| {
        let mut surveyor = Surveyor::new(graph, reading, image);
        surveyor.read();
        surveyor
    };
    let [usual, others @ ..] = extents::IMAGES;
    let guessed = |image| extents::guessed(graph, &reading.dims, image);
    let mut best = read(usual);
    if best.left_count() > 0 && others.iter().any(|&image| guessed(image) != guessed(usual)) {
        for other in others.into_iter().map(read) {
            if other.left_count() < best.left_count() {
                best = other;
            }
        }
    }
    best.compile(compile)
}

struct Surveyor<'a, 'g> {
    graph: &'a Graph<'g>,
    reading: &'a Reading,
    names: BTreeMap<String, usize>,
    /// Extent that is tried for unknown heights and widths of images.
    image: usize,
    left: BTreeMap<NodeIndex, String>,
    refusals: usize,
    /// Number of bytes copied for refused readings.
    bytes: usize,
    /// Work of the groups that the importer accepted.
    accepted: HashMap<Vec<NodeIndex>, Work>,
    /// Groups that were compiled.
    compiled: HashSet<Vec<NodeIndex>>,
    /// Nodes that the importer accepted, but that cannot be computed on the device.
    beyond_device: BTreeSet<NodeIndex>,
}

/// Nodes that are refused, with the reason for each.
type Refused = BTreeMap<NodeIndex, String>;

impl<'a, 'g> Surveyor<'a, 'g> {
    fn new(graph: &'a Graph<'g>, reading: &'a Reading, image: usize) -> Self {
        Self {
            graph,
            reading,
            names: extents::named(graph, &reading.dims, image),
            image,
            left: BTreeMap::new(),
            refusals: 0,
            bytes: 0,
            accepted: HashMap::new(),
            compiled: HashSet::new(),
            beyond_device: BTreeSet::new(),
        }
    }

    /// Leaves the nodes that the importer refuses, and those of small groups.
    fn read(&mut self) {
        for (index, node) in self.graph.nodes.iter().enumerate() {
            if let Some(why) = self.unfit(index) {
                self.left.insert(index, why);
            } else if node.assigned {
                self.left.insert(index, "it is another provider's".to_owned());
            }
        }
        self.leave_unknown_operators();
        // First try all nodes at once: a single reading reports all nodes that are refused for reasons of their
        // operator.
        while let Err(refused) = self.try_part(self.taken()) {
            self.left.extend(refused);
        }
        self.parts(None);
    }

    /// Leaves the nodes that cannot be compiled, and returns the result.
    fn compile(mut self, compile: &TryCompile<'_>) -> Survey {
        let parts = self.parts(Some(compile));
        let assigned = |index: &NodeIndex| self.graph.nodes[*index].assigned;
        let left = self.left.into_iter().filter(|(index, _)| !assigned(index)).collect();
        Survey { parts, left, beyond_device: self.beyond_device, image: self.image }
    }

    /// Returns the number of nodes that are left, except those of other providers.
    fn left_count(&self) -> usize {
        self.left.keys().filter(|index| !self.graph.nodes[**index].assigned).count()
    }

    /// Reads each group separately, because values that it reads from other groups are unknown before a run, and
    /// compiles it if asked to. Returns the groups that remain.
    fn parts(&mut self, compile: Option<&TryCompile<'_>>) -> Vec<Part> {
        'groups: loop {
            let taken: Vec<bool> = (0..self.graph.nodes.len()).map(|index| !self.left.contains_key(&index)).collect();
            let mut parts = Vec::new();
            for group in groups(self.graph, &taken) {
                let part = self.try_part(group).and_then(|part| self.check_size(part));
                let part = match compile {
                    Some(compile) => part.and_then(|part| self.try_compile(part, compile)),
                    None => part,
                };
                match part {
                    Ok(part) => parts.push(part),
                    Err(refused) => {
                        self.left.extend(refused);
                        continue 'groups;
                    }
                }
            }
            break parts;
        }
    }

    /// Compiles nodes that the importer accepted. Any error refuses at least one of them.
    fn try_compile(&mut self, part: Part, compile: &TryCompile<'_>) -> Result<Part, Refused> {
        if part.nodes.is_empty() || self.compiled.contains(&part.nodes) {
            return Ok(part);
        }
        // Both steps succeeded in `try_part` just before.
        let Ok(dims) = extents::tried(self.graph, &part, &self.names, self.image) else { return Ok(part) };
        let bytes = Arc::new(onnx::model(self.graph, &part).bytes);
        let Ok(model) = read(&bytes, dims, self.reading.fake_quant) else { return Ok(part) };
        let Some((refused, why)) = compile(self.graph, &part, &model) else {
            self.compiled.insert(part.nodes.clone());
            return Ok(part);
        };
        let named = match refused {
            Uncomputable::Node(position) => part.nodes.get(position).map(|&node| vec![node]),
            Uncomputable::Model => None,
        };
        let nodes = named.unwrap_or(part.nodes);
        self.beyond_device.extend(&nodes);
        Err(nodes.into_iter().map(|node| (node, why.clone())).collect())
    }

    /// Leaves all nodes with unknown operators. Reading the whole graph would stop at each of them and skip the nodes
    /// behind it, so a chain of such nodes would take a reading for each.
    fn leave_unknown_operators(&mut self) {
        let known: HashSet<String> = import::supported().into_iter().filter_map(|operator| operator.onnx).collect();
        let mut reasons: HashMap<String, String> = HashMap::new();
        for index in self.taken() {
            let operator = self.graph.nodes[index].full_operator();
            if known.contains(&operator) {
                continue;
            }
            let reason = reasons.entry(operator).or_insert_with(|| {
                let said = self.try_part(vec![index]).err().and_then(|mut refused| refused.remove(&index));
                // The importer checks operands first, so its message may be about an operand instead of the operator.
                said.filter(|said| said.contains(NOT_SUPPORTED)).unwrap_or_else(|| NOT_SUPPORTED.to_owned())
            });
            self.left.insert(index, reason.clone());
        }
    }

    fn taken(&self) -> Vec<NodeIndex> {
        (0..self.graph.nodes.len()).filter(|index| !self.left.contains_key(index)).collect()
    }

    /// Returns why a node cannot even be written into a model, if that is so.
    fn unfit(&self, index: NodeIndex) -> Option<String> {
        let node = &self.graph.nodes[index];
        if let Some(why) = &node.unreadable {
            return Some(why.clone());
        }
        let described = |role: &str, values: &[Option<ValueId>]| {
            let unfit =
                values.iter().flatten().find(|&&value| element_type(self.graph.values[value].kind).is_none())?;
            let value = &self.graph.values[*unfit];
            let kind = type_name(value.kind);
            Some(match value.kind {
                0 => format!("its {role} `{}` is {kind}, or one whose type is not known", value.name),
                _ => format!(
                    "its {role} `{}` has elements of type {kind}; convert it to float, float16, an integer or bool",
                    value.name
                ),
            })
        };
        let of_type = described("operand", &node.inputs).or_else(|| described("result", &node.outputs));
        of_type.or_else(|| integers::unfit(self.graph, index))
    }

    /// Reads nodes as one model. Any error refuses at least one of them.
    fn try_part(&mut self, nodes: Vec<NodeIndex>) -> Result<Part, Refused> {
        let part = self.graph.part(nodes);
        if part.nodes.is_empty() || self.accepted.contains_key(&part.nodes) {
            return Ok(part);
        }
        if self.refusals > MOST_REFUSALS || self.bytes > MOST_BYTES {
            let why = "the graph has too many nodes that cannot be taken to look at them all";
            return Err(part.nodes.iter().map(|&node| (node, why.to_owned())).collect());
        }
        let dims =
            extents::tried(self.graph, &part, &self.names, self.image).map_err(|input| self.unknown(&part, input))?;
        let bytes = Arc::new(onnx::model(self.graph, &part).bytes);
        let outcome = match read(&bytes, dims, self.reading.fake_quant) {
            Ok(model) => match self.refused_of_model(&part, &model) {
                Some(refused) => Err(refused),
                None => Ok(Work::of(model.graph())),
            },
            Err(error) => Err(self.refused(&part, &error)),
        };
        match outcome {
            Ok(work) => {
                self.accepted.insert(part.nodes.clone(), work);
                Ok(part)
            }
            Err(refused) => {
                self.refusals += 1;
                self.bytes += bytes.len();
                Err(refused)
            }
        }
    }

    /// Refuses an accepted part that has less work than a call of the device costs.
    fn check_size(&self, part: Part) -> Result<Part, Refused> {
        let Some(&work) = self.accepted.get(&part.nodes) else { return Ok(part) };
        let whole = part.nodes.len() == self.graph.nodes.len();
        match too_small(work, whole, self.reading.min_operations) {
            Some(refusal) => {
                let why = format!("{}; {}", refusal.reason, refusal.hint);
                Err(part.nodes.into_iter().map(|node| (node, why.clone())).collect())
            }
            None => Ok(part),
        }
    }

    /// Returns nodes that must be left although the importer accepts them.
    fn refused_of_model(&self, part: &Part, model: &Model) -> Option<Refused> {
        let mut refused = Refused::new();
        for (&value, output) in part.outputs.iter().zip(model.outputs()) {
            let value = &self.graph.values[value];
            if element_type(value.kind) != Some(output.element_type) {
                let (found, wanted) = (output.element_type, type_name(value.kind));
                let why = format!("its result `{}` would be {found} where {wanted} is stated", value.name);
                refused.extend(self.writers(part, &value.name).into_iter().map(|node| (node, why.clone())));
            }
        }
        for computed in &model.graph().nodes {
            if let Some(&node) = part.nodes.get(computed.op_index).filter(|&&node| integers::grows(self.graph, node)) {
                refused.insert(node, integers::WHY.to_owned());
            }
        }
        let computes = model.graph().nodes.iter().any(|node| !matches!(node.op, Op::Reshape));
        if !computes {
            let why = "by itself it only passes values on, which is not worth a copy to the device and back";
            refused.extend(part.nodes.iter().map(|&node| (node, why.to_owned())));
        }
        (!refused.is_empty()).then_some(refused)
    }

    /// Refuses the nodes that read a value of unknown extents.
    fn unknown(&self, part: &Part, input: ValueId) -> Refused {
        let value = &self.graph.values[input];
        let why = match value.dims {
            Some(ref dims) if dims.contains(&crate::graph::Extent::Known(0)) => {
                format!("its operand `{}` has no elements", value.name)
            }
            _ => format!(
                "the extents of its operand `{}` are only known in a run; export the model with fixed shapes",
                value.name
            ),
        };
        self.readers(part, &value.name).into_iter().map(|node| (node, why.clone())).collect()
    }

    /// Returns the nodes that the importer's error refers to, or all nodes of the part if it does not refer to any.
    fn refused(&self, part: &Part, error: &Error) -> Refused {
        let whole = || part.nodes.iter().map(|&node| (node, error.to_string())).collect::<Refused>();
        let of_tensor = |name: &str, why: String| {
            let nodes: BTreeSet<NodeIndex> =
                self.writers(part, name).into_iter().chain(self.readers(part, name)).collect();
            nodes.into_iter().map(|node| (node, why.clone())).collect::<Refused>()
        };
        let refused = match error {
            Error::Import(ImportError::Unsupported(list)) => list
                .iter()
                .filter_map(|op| Some((*part.nodes.get(op.node)?, format!("{}; {}", op.reason, op.hint))))
                .collect(),
            Error::Import(ImportError::TooMuch(too_much)) => {
                match too_much.node.and_then(|node| part.nodes.get(node)) {
                    Some(&node) => Refused::from([(node, format!("{}; {}", too_much.reason, too_much.hint))]),
                    None => of_tensor(&too_much.tensor, too_much.reason.clone()),
                }
            }
            Error::Import(ImportError::GraphIo { tensor, reason, hint, .. }) => {
                of_tensor(tensor, format!("`{tensor}`: {reason}; {hint}"))
            }
            _ => self.refused_one_by_one(part),
        };
        if refused.is_empty() { whole() } else { refused }
    }

    /// Returns the nodes that are also refused when each is read alone. Used if a part is refused as a whole.
    fn refused_one_by_one(&self, part: &Part) -> Refused {
        let mut refused = Refused::new();
        for &node in part.nodes.iter().filter(|_| part.nodes.len() > 1) {
            let alone = self.graph.part(vec![node]);
            let Ok(dims) = extents::tried(self.graph, &alone, &self.names, self.image) else { continue };
            let bytes = Arc::new(onnx::model(self.graph, &alone).bytes);
            match read(&bytes, dims, self.reading.fake_quant) {
                // An unsupported node may only seem so because its operands are constant in the part, but unknown
                // here.
                Ok(_) | Err(Error::Import(ImportError::Unsupported(_))) => {}
                Err(error) => drop(refused.insert(node, error.to_string())),
            }
        }
        refused
    }

    fn writers(&self, part: &Part, name: &str) -> Vec<NodeIndex> {
        self.nodes_with(part, name, |node| &node.outputs)
    }

    fn readers(&self, part: &Part, name: &str) -> Vec<NodeIndex> {
        self.nodes_with(part, name, |node| &node.inputs)
    }

    fn nodes_with(
        &self,
        part: &Part,
        name: &str,
        values: impl Fn(&crate::graph::Node) -> &[Option<ValueId>],
    ) -> Vec<NodeIndex> {
        let named = |value: &ValueId| self.graph.values[*value].name == name;
        let nodes = part.nodes.iter().copied();
        nodes.filter(|&node| values(&self.graph.nodes[node]).iter().flatten().any(named)).collect()
    }
}

#[cfg(test)]
mod tests;
