//! The `.onnx` reader: messages, extents, nodes in order, and one list of all refusals.
//!
//! What can be computed now is (`fold`), down to the shape arithmetic that exporters leave behind; the rest becomes
//! nodes of the graph (`lower`). Values are seen as the file sees them, whatever layout they are computed in (`layout`).

mod arrange;
mod array;
mod call;
mod dims;
mod external;
mod fold;
mod layout;
mod lower;
mod model;
mod names;
mod op_registry;
mod ports;
mod preferred_input_layout;
mod site;
mod six;
mod tensor;
mod value;
mod wire;

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    path::Path,
};

pub use array::{Array, Elem};
pub(super) use op_registry::{OnnxOpEntry, operators};

use super::{
    ImportOptions, Owner,
    common::refusals::Refusals,
    error::{ImportError, Problem},
    label::label,
    meter::Meter,
};
use crate::graph::{Graph, check};
use call::Call;
use external::External;
use model::{Model, Node};
use names::{Names, Operand};
use op_registry::own_domain;
use site::Site;
use tensor::{Owned, Values};

/// Operator sets that are read.
pub(super) const OLDEST: i64 = 6;
pub(super) const NEWEST: i64 = 28;

/// Whether bytes may be a model: its fields up to the graph are those of one.
pub(super) fn looks_right(bytes: &[u8]) -> bool {
    let meter = RefCell::new(Meter::new(0));
    let mut message = wire::Message::of(bytes, &meter);
    let mut graph = false;
    loop {
        match message.next() {
            Ok(Some((7, _))) => graph = true,
            Ok(Some((number, _))) if number < 64 => {}
            Ok(None) => return graph,
            _ => return false,
        }
    }
}

/// Reads a model. `path` is where it lies, if it is a file: values may lie beside it.
pub(super) fn read(owner: Owner, path: Option<&Path>, options: &ImportOptions) -> Result<Graph, ImportError> {
    let bytes = (*owner).as_ref();
    let meter = RefCell::new(Meter::new(bytes.len()));
    let model = Model::read(wire::Message::of(bytes, &meter)).map_err(broken)?;
    let file = model.graph.as_ref().ok_or_else(|| ImportError::Malformed { what: "it holds no graph".to_owned() })?;
    let opsets = Opsets::new(&model)?;
    let external = path.map(External::beside).unwrap_or_default();
    let mut site = Site::new(meter.into_inner());
    site.fake_quant = options.fake_quant;
    options.constants.values().for_each(|array| site.meter.widen(array.bytes()));
    let mut values = Values { external, owner: Owned(owner) };
    site.graph.name = label(&file.name);
    let mut names = Names::new(file, &mut site.meter)?;
    ports::inputs(file, options, &mut site, &mut names)?;

    let mut refusals = Refusals::default();
    for (index, node) in file.nodes.iter().enumerate() {
        let Err(problem) = lower(index, node, &opsets, &mut site, &mut names, &mut values) else { continue };
        let operator = if node.domain.is_empty() { node.op.clone() } else { format!("{}.{}", node.domain, node.op) };
        let result = node.outputs.first().map(String::as_str).unwrap_or_default();
        let name = if node.name.is_empty() { result } else { &node.name };
        refusals.note(index, name, &operator, result, problem)?;
        if refusals.is_full() {
            break;
        }
    }
    refusals.finish()?;
    ports::outputs(file, &mut site, &mut names, &mut values)?;
    let [made, steps, repeated] = site.meter.taken();
    let graph = super::prune::pruned(site.graph);
    check(&graph)?;
    let (nodes, tensors) = (graph.nodes.len(), graph.tensors.len());
    tracing::debug!(model = graph.name, nodes, tensors, made, steps, repeated, "imported");
    Ok(graph)
}

fn broken(found: wire::Broken) -> ImportError {
    match found.excess.map(|excess| Problem::from(excess).within(None, "", "")) {
        Some(Err(too_much)) => too_much,
        _ => ImportError::Malformed { what: format!("{} at byte {}", found.what, found.at) },
    }
}

/// Reads a tensor that is a file of its own.
pub(super) fn read_tensor(owner: Owner) -> Result<Array, ImportError> {
    let bytes = (*owner).as_ref();
    let meter = RefCell::new(Meter::new(bytes.len()));
    let tensor = model::Tensor::read(wire::Message::of(bytes, &meter)).map_err(broken)?;
    let refused = |problem: Problem| match problem.within(None, "", &tensor.name) {
        Ok(Problem { reason, hint, .. }) => {
            ImportError::GraphIo { role: "value", tensor: label(&tensor.name), reason, hint: hint.to_owned() }
        }
        Err(too_much) => too_much,
    };
    let mut meter = meter.into_inner();
    Values { external: External::default(), owner: Owned(owner) }.array(&tensor, &mut meter).map_err(refused)
}

/// Adds what computes a node's results, or states them.
fn lower<'m>(
    index: usize,
    node: &'m Node,
    opsets: &Opsets<'_>,
    site: &mut Site,
    names: &mut Names<'m>,
    values: &mut Values,
) -> Result<(), Problem> {
    // Looked at before its results have names, so that it cannot read itself.
    let operands = names.operands(node, values, &mut site.meter);
    names.claim(node)?;
    let entry = opsets.find(node)?;
    let operands = operands?;
    // A node that reads what a refused node should have computed cannot be looked at further.
    let Some(operands) = operands.into_iter().map(Operand::into_value).collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    let mut stated = HashSet::new();
    if let Some(twice) = node.attributes.iter().find(|attribute| !stated.insert(attribute.name.as_str())) {
        return Err(Problem::malformed(format!("it states its {} twice", twice.name)));
    }
    site.begin(index, node.outputs.iter().find(|name| !name.is_empty()).map(String::as_str).unwrap_or_default());
    let known = operands.iter().flatten().all(|value| value.known().is_some());
    let read = node.outputs.iter().map(|name| names.is_read(name)).collect();
    let opset = opsets.version(&node.domain);
    let results = vec![None; node.outputs.len()];
    let before = site.graph.tensors.len();
    let mut call = Call { site, node, opset, operands, results, read, values };
    six::renew(&mut call)?;
    match entry.fold {
        Some(fold) if known => {
            if entry.fold_reads_elements {
                call.write_out()?;
            }
            fold(&mut call)?;
        }
        _ => (entry.lower)(&mut call)?,
    }
    let results = std::mem::take(&mut call.results);
    names.state(node, results, before, site)
}

/// The operator sets that a model is written in.
struct Opsets<'m> {
    functions: &'m HashSet<String>,
    versions: HashMap<&'m str, i64>,
}

impl<'m> Opsets<'m> {
    fn new(model: &'m Model) -> Result<Self, ImportError> {
        let mut versions = HashMap::new();
        for (domain, version) in &model.opsets {
            if versions.insert(own_domain(domain), *version).is_some_and(|other| other != *version) {
                return Err(ImportError::Duplicate { what: "operator set", name: domain.clone() });
            }
        }
        let version = versions.get("").copied().unwrap_or(0);
        if (OLDEST..=NEWEST).contains(&version) {
            return Ok(Self { functions: &model.functions, versions });
        }
        Err(ImportError::Opset { version, oldest: OLDEST, newest: NEWEST })
    }

    fn version(&self, domain: &str) -> i64 {
        self.versions.get(own_domain(domain)).copied().unwrap_or(0)
    }

    fn find(&self, node: &Node) -> Result<&'static OnnxOpEntry, Problem> {
        if let Some(entry) = op_registry::find(&node.domain, &node.op) {
            return Ok(entry);
        }
        if node.attributes.iter().any(|attribute| attribute.graph) {
            return Err(Problem::unsupported("control flow is not supported"));
        }
        if self.functions.contains(&node.op) {
            return Err(Problem::new(
                "it is a function defined in the file",
                "export the model with functions inlined",
            ));
        }
        Err(Problem::unsupported("the operator is not supported"))
    }
}
