//! Examines nodes one by one, whether earlier nodes are refused or not.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    alike,
    array::ranked,
    dims::Binding,
    element_type::number,
    functions::Definitions,
    graph_io,
    graph_lowering::GraphLowering,
    lower_node::lower_node,
    model::{Extent, Graph, GraphIo, IoType, Node, own_domain},
    names::Names,
    preferred_input_layout::PreferredLayouts,
    stated::Stated,
    tensor::ValueSource,
    value::Value,
};
use crate::import::{
    ExtentBound, ImportOptions,
    error::{ImportError, Problem, UnresolvedDim},
    label::label,
    outline::{OpenExtent, RefusalCount, TensorOutline, Verdict},
};
use texpool_ops::{
    graph::{ElementType, MAX_ELEMENTS, Op},
    ops,
};

/// No extents: an outline has a number for each.
static NONE: BTreeMap<String, ExtentBound> = BTreeMap::new();

/// Value to try for other open axes, for example the number of tokens of a text.
const LENGTH: usize = 16;

/// Examines a file.
#[derive(Debug)]
pub(super) struct Outliner<'m> {
    file: &'m Graph,
    stated: Stated<'m>,
    /// Extents by name, as bound by the caller.
    bound: BTreeMap<String, usize>,
    /// Extents by name, with typical values for unbound ones.
    trial_extents: BTreeMap<String, usize>,
    preferred: PreferredLayouts<'m>,
    /// Height and width to try if the extent of an image is open.
    image: usize,
    lowering: GraphLowering,
    names: Names<'m>,
    values: ValueSource,
    /// Names whose extents may depend on a typical value.
    uncertain: HashSet<&'m str>,
    refusals: RefusalCount,
}

impl<'m> Outliner<'m> {
    pub(super) fn new(
        file: &'m Graph,
        stated: Stated<'m>,
        options: &ImportOptions,
        image: usize,
        mut lowering: GraphLowering,
        values: ValueSource,
    ) -> Result<Self, ImportError> {
        options.constants.values().for_each(|array| lowering.meter.widen(array.bytes()));
        let names = Names::new(file, &mut lowering.meter)?;
        Ok(Self {
            file,
            stated,
            bound: options.most(),
            trial_extents: options.most(),
            preferred: PreferredLayouts::new(&file.nodes),
            image,
            lowering,
            names,
            values,
            uncertain: HashSet::new(),
            refusals: RefusalCount::default(),
        })
    }

    /// Defines the inputs, and returns their open extents, and whether one is a height or width of an image.
    pub(super) fn inputs(&mut self, options: &ImportOptions) -> Result<(Vec<OpenExtent>, bool), ImportError> {
        let file = self.file;
        graph_io::bindable(file, options)?;
        let mut ports: Vec<&'m GraphIo> = Vec::new();
        for port in &file.inputs {
            if let Some(array) = options.constants.get(&port.name) {
                let mut binding = Binding::new(&self.bound, &NONE);
                let array = graph_io::as_stated(array, port, &mut binding, &mut self.lowering)?;
                self.names.define(&port.name, Value::Known(array));
            } else if !self.names.is_initializer(&port.name) {
                match &port.kind {
                    IoType::Tensor(_, None) if !self.bound.contains_key(&format!("{}:0", port.name)) => {
                        let reason = format!("the file states no extents of its operand `{}`", port.name);
                        self.names.spoil(&port.name, Problem::dynamic(reason));
                    }
                    _ => ports.push(port),
                }
            }
        }
        let readable = |port: &&GraphIo| matches!(port.kind, IoType::Tensor(..));
        let shaped: Vec<&GraphIo> = ports.iter().copied().filter(readable).collect();
        let open = match extents(&shaped, &self.bound) {
            Err(ImportError::UnresolvedDim(open)) => open,
            Err(error) => return Err(error),
            Ok(_) => Vec::new(),
        };
        let mut is_of_image = false;
        for UnresolvedDim { input, axis, name, .. } in &open {
            let rank = self.stated.dims(input, &self.bound).map_or(0, |dims| dims.len());
            self.trial_extents.entry(name.clone()).or_insert_with(|| match (*axis, rank) {
                (0, _) => 1,
                (2.., 4) => {
                    is_of_image = true;
                    self.image
                }
                _ => LENGTH,
            });
        }
        let dims = extents(&shaped, &self.trial_extents)?;
        let mut dims: HashMap<&str, Vec<usize>> = shaped.iter().map(|port| port.name.as_str()).zip(dims).collect();
        for port in ports {
            let (lowering, names) = (&mut self.lowering, &mut self.names);
            let defined = graph_io::elem(port).and_then(|elem| {
                let dims = dims.remove(port.name.as_str()).unwrap_or_default();
                // A runtime gives the input, also if it has no elements.
                if dims.contains(&0) {
                    return Err(Problem::empty(format!("its extents are {dims:?}")));
                }
                graph_io::input(&port.name, elem, dims, &mut self.preferred, lowering, names)
            });
            match defined {
                Ok(tensor) => self.lowering.meter.state(self.lowering.graph.shape(tensor).len()),
                Err(problem) => self.names.spoil(&port.name, of_operand(&port.name, problem)),
            }
            if open.iter().any(|open| open.input == port.name) {
                self.uncertain.insert(&port.name);
            }
        }
        let open = open.into_iter().map(|open| OpenExtent {
            place: open.to_string(),
            tried: self.trial_extents.get(&open.name).copied().unwrap_or_default(),
            name: open.name,
        });
        Ok((open.collect(), is_of_image))
    }

    /// Returns the verdicts if no node can be examined.
    pub(super) fn none(&mut self, error: &ImportError) -> Vec<(Verdict, u64)> {
        let problem = Problem::new(error.to_string(), "export the model with another operator set");
        self.file.nodes.iter().map(|_| (Verdict::Refused(self.refusals.refusal(&problem)), 0)).collect()
    }

    /// Returns the verdict and the elementary operations of each node.
    pub(super) fn nodes(&mut self, definitions: &Definitions<'_>, implicit: &[HashSet<String>]) -> Vec<(Verdict, u64)> {
        let file = self.file;
        let nodes = file.nodes.iter().zip(implicit).enumerate();
        nodes.map(|(index, (node, implicit))| self.node(index, node, implicit, definitions)).collect()
    }

    fn node(
        &mut self,
        index: usize,
        node: &'m Node,
        implicit: &HashSet<String>,
        definitions: &Definitions<'_>,
    ) -> (Verdict, u64) {
        let missing = self.names.missing(node).map(str::to_owned);
        let uncertain = node.inputs.iter().chain(implicit).any(|name| self.uncertain.contains(name.as_str()));
        let first = self.lowering.graph.nodes.len();
        let outcome = lower_node(definitions.node(index), node, &mut self.lowering, &mut self.names, &mut self.values);
        let missing = missing.or_else(|| self.missing_in_branches(node));
        let verdict = match (self.unreadable(node), outcome, missing) {
            (_, Err(problem), _) | (Some(problem), ..) => {
                let problem = if uncertain { problem.with_bound_extents() } else { problem };
                Verdict::Refused(self.refusals.refusal(&problem))
            }
            (None, Ok(()), Some(operand)) => Verdict::Unknown(self.refusals.refusal(&Problem::new(
                format!("the file does not state the extents of its operand `{operand}`, which is left"),
                "save the model with shapes inferred (onnx.shape_inference), or export it with fixed shapes",
            ))),
            (None, Ok(()), None) => self.computed(node, first),
        };
        let operations = match verdict {
            Verdict::Computed => {
                let graph = &self.lowering.graph;
                ops::operations(graph, graph.nodes.iter().skip(first))
            }
            _ => 0,
        };
        for (result, name) in node.outputs.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if uncertain {
                self.uncertain.insert(name);
            }
            let own = self.names.facts(name).map(|value| (value.dims.to_vec(), value.elem));
            // Numbers that the runtime draws are no known values for other nodes.
            if own.is_none() || draws(node) {
                let like = alike::operand(node).filter(|_| result == 0).and_then(|like| self.names.facts(like));
                let like = like.map(|value| (value.dims.to_vec(), value.elem));
                self.stand_in(name, own.or(like).or_else(|| Some((Vec::new(), alike::scalar(node, result)?))));
            }
        }
        self.names.leave(node, &mut self.lowering.meter);
        (verdict, operations)
    }

    /// Returns a name without a value that the branches of a lowered node read, if the node has no results because of it.
    fn missing_in_branches(&self, node: &Node) -> Option<String> {
        let is_open = node.outputs.iter().all(|name| self.names.facts(name).is_none());
        self.names.missing_in_branches(node).filter(|_| is_open).map(str::to_owned)
    }

    /// Returns the reason for which a node is left: it draws random numbers, or the stated type of an operand or
    /// result is not supported.
    fn unreadable(&self, node: &Node) -> Option<Problem> {
        if draws(node) {
            let reason = "it draws random numbers, which a runtime draws anew in each run";
            return Some(Problem::new(reason, "the runtime computes it; a session of texpool alone draws them once"));
        }
        let [operands, results] = [("operand", &node.inputs), ("result", &node.outputs)]
            .map(|(role, names)| names.iter().map(move |name| (role, name)));
        operands.chain(results).find_map(|(role, name)| {
            let problem = self.stated.element_type(name)?.err()?;
            Some(Problem { reason: format!("its {role} `{name}`: {}", problem.reason), ..problem })
        })
    }

    /// Returns the verdict for a lowered node. It added the graph nodes from `first` on.
    fn computed(&self, node: &Node, first: usize) -> Verdict {
        let results = node.outputs.iter().filter_map(|name| self.names.facts(name));
        let mut added = self.lowering.graph.nodes.iter().skip(first);
        if results.clone().next().is_some() && results.clone().all(|value| value.is_known) {
            Verdict::Known
        } else if added.all(|node| matches!(node.op, Op::Reshape)) {
            Verdict::Passed
        } else {
            Verdict::Computed
        }
    }

    /// Defines a name whose node was refused as an input. This needs its type and extents, which the file states or
    /// which are `like`.
    fn stand_in(&mut self, name: &'m str, like: Option<(Vec<usize>, ElementType)>) {
        let (trial, bound) = (self.stated.dims(name, &self.trial_extents), self.stated.dims(name, &self.bound));
        if trial != bound {
            self.uncertain.insert(name);
        }
        let complete = trial.and_then(|dims| dims.into_iter().collect::<Option<Vec<_>>>());
        let (dims, elem) = match (complete, self.stated.element_type(name), like) {
            (Some(dims), Some(elem), _) => (dims, elem),
            (_, _, Some((dims, elem))) => (dims, Ok(elem)),
            _ => return,
        };
        if dims.iter().any(|extent| *extent > MAX_ELEMENTS) {
            return;
        }
        let (lowering, names) = (&mut self.lowering, &mut self.names);
        let defined = elem
            .and_then(|elem| ranked(dims.len()).map(|()| elem))
            .and_then(|elem| graph_io::input(name, elem, dims, &mut self.preferred, lowering, names));
        if let Err(problem) = defined {
            self.names.spoil(name, of_operand(name, problem));
        }
    }

    /// Charges memory.
    pub(super) fn makes(&mut self, bytes: usize) -> Result<(), ImportError> {
        match self.lowering.meter.memory(bytes) {
            Ok(()) => Ok(()),
            Err(excess) => Problem::from(excess).within(None, "", "").map(|_| ()),
        }
    }

    /// Returns whether a value follows from the file alone.
    pub(super) fn is_constant(&self, name: &str) -> bool {
        self.names.facts(name).is_some_and(|value| value.is_known) || self.names.is_initializer(name)
    }

    /// Returns the known facts about a value.
    pub(super) fn tensor(&self, name: &str) -> TensorOutline {
        let value = self.names.facts(name);
        let dims = match value {
            Some(value) if !self.uncertain.contains(name) => Some(value.dims.iter().copied().map(Some).collect()),
            Some(value) => self.stated.dims(name, &self.bound).or_else(|| Some(vec![None; value.dims.len()])),
            None => self.stated.dims(name, &self.bound),
        };
        let element_type = match self.stated.element_type(name) {
            Some(stated) => stated.ok(),
            None => value.map(|value| value.elem),
        };
        let outline = TensorOutline { dims, element_type, ..TensorOutline::default() };
        let trial_dims = value.map(|value| value.dims.iter().copied().map(Some).collect());
        let tried_bytes = TensorOutline { dims: trial_dims, element_type, ..TensorOutline::default() }.bytes();
        let tried_bytes = tried_bytes.filter(|_| outline.bytes().is_none());
        TensorOutline { name: label(name), constant: self.is_constant(name), tried_bytes, ..outline }
    }

    /// Returns a value as an input or output of nodes that are read alone, with the tried extents.
    pub(super) fn port(&self, name: &str) -> GraphIo {
        let value = self.names.facts(name);
        let extents = value.map(|value| value.dims.iter().map(|&extent| Extent::Known(extent as i64)).collect());
        let stated = self.stated.element_type(name).and_then(Result::ok);
        let element_type = stated.or_else(|| value.map(|value| value.elem));
        let kind = element_type.map_or(IoType::Unstated, |element_type| IoType::Tensor(number(element_type), extents));
        GraphIo { name: name.to_owned(), kind }
    }
}

/// Operators whose results differ from run to run.
const DRAWING: [&str; 4] = ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"];

/// Returns whether a node is one of them.
fn draws(node: &Node) -> bool {
    own_domain(&node.domain).is_empty() && DRAWING.contains(&node.op.as_str())
}

/// Attributes a problem to an operand.
fn of_operand(name: &str, problem: Problem) -> Problem {
    Problem { reason: format!("its operand `{name}`: {}", problem.reason), ..problem }
}

/// Resolves the extents of inputs.
fn extents(ports: &[&GraphIo], bound: &BTreeMap<String, usize>) -> Result<Vec<Vec<usize>>, ImportError> {
    let mut binding = Binding::new(bound, &NONE);
    let dims = ports.iter().map(|port| binding.dims(port)).collect::<Result<Vec<_>, _>>()?;
    binding.finish(|_| false).map(|_| dims)
}
