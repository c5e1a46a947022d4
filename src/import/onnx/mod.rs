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
mod ports;
mod room;
mod site;
mod six;
mod tensor;
mod value;
mod wire;
mod wish;

use std::{collections::BTreeMap, path::Path};

pub use array::{Array, Elem};
pub(super) use call::Call;
pub(super) use lower::FACTS;

use super::{
    error::{ImportError, Problem, Refusal},
    facts::{self, Onnx},
    tensors::Owner,
};
use crate::graph::{Graph, check};
use external::External;
use model::{Model, Node};
use names::{Names, Operand};
use site::Site;
use tensor::{Owned, Values};
use value::Value;

/// What is bound when a model is imported.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Extents that the file leaves open, by their names; `INPUT:AXIS` for one without a name.
    pub dims: BTreeMap<String, usize>,
    /// Graph inputs that are part of the model, by their names.
    pub constants: BTreeMap<String, Array>,
}

/// Operator sets that are read.
pub(super) const OLDEST: i64 = 6;
pub(super) const NEWEST: i64 = 28;

/// Refusals listed at most: beyond any real model, so that a hostile one cannot make the list its weapon.
const MAX_REFUSALS: usize = 10_000;

/// Whether bytes may be a model: its fields up to the graph are those of one.
pub(super) fn looks_right(bytes: &[u8]) -> bool {
    let mut message = wire::Message::of(bytes);
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
    let broken = |e: wire::Broken| ImportError::Damaged { what: format!("{} at byte {}", e.what, e.at) };
    let model = Model::read((*owner).as_ref()).map_err(broken)?;
    let file = model.graph.as_ref().ok_or_else(|| ImportError::Damaged { what: "it holds no graph".to_owned() })?;
    let opsets = Opsets::new(&model)?;
    let external = path.map(External::beside).unwrap_or_default();
    let mut site = Site::default();
    site.room.widen((*owner).as_ref().len());
    options.constants.values().for_each(|array| site.room.widen(array.len()));
    let mut values = Values { external, owner: Owned(owner) };
    site.graph.name = file.name.clone();
    let mut names = Names::new(file);
    ports::inputs(file, options, &mut site, &mut names)?;

    let mut refusals = Vec::new();
    for (index, node) in file.nodes.iter().enumerate() {
        let result = lower(index, node, &opsets, &mut site, &mut names, &mut values);
        let Err(Problem { reason, remedy }) = result else { continue };
        let operator = if node.domain.is_empty() { node.op.clone() } else { format!("{}.{}", node.domain, node.op) };
        let first = || node.outputs.first().cloned().unwrap_or_default();
        let name = if node.name.is_empty() { first() } else { node.name.clone() };
        refusals.push(Refusal { node: index, name, operator, reason, remedy: remedy.to_owned() });
        if refusals.len() == MAX_REFUSALS {
            break;
        }
    }
    if !refusals.is_empty() {
        return Err(ImportError::Unsupported(refusals));
    }
    ports::outputs(file, &mut site, &mut names, &mut values)?;
    let graph = super::prune::pruned(site.graph);
    check(&graph)?;
    tracing::debug!(model = graph.name, nodes = graph.nodes.len(), tensors = graph.tensors.len(), "imported");
    Ok(graph)
}

/// Reads a tensor that is a file of its own.
pub(super) fn read_tensor(owner: Owner) -> Result<Array, ImportError> {
    let broken = |e: wire::Broken| ImportError::Damaged { what: format!("{} at byte {}", e.what, e.at) };
    let tensor = model::Tensor::read(wire::Message::of((*owner).as_ref())).map_err(broken)?;
    let refused = |problem: Problem| ImportError::Port {
        role: "value",
        tensor: tensor.name.clone(),
        reason: problem.reason,
        remedy: problem.remedy.to_owned(),
    };
    Values { external: External::default(), owner: Owned(owner) }.array(&tensor).map_err(refused)
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
    let operands = names.operands(node, values);
    site.room.widen(values.external.newly_mapped());
    names.claim(node)?;
    let fact = opsets.find(node)?;
    let operands = operands?;
    // A node that reads what a refused node should have computed cannot be looked at further.
    let Some(operands) = operands.into_iter().map(Operand::into_value).collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    site.origin = index;
    site.label = node.outputs.iter().find(|name| !name.is_empty()).cloned().unwrap_or_default();
    let known = operands.iter().flatten().all(|value| value.known().is_some());
    let read = node.outputs.iter().map(|name| names.is_read(name)).collect();
    let opset = opsets.version(&node.domain);
    let results = vec![None; node.outputs.len()];
    let before = site.graph.tensors.len();
    let mut call = Call { site, node, opset, operands, results, read, values };
    six::renew(&mut call)?;
    match fact.fold {
        Some(fold) if known => fold(&mut call)?,
        _ => (fact.lower)(&mut call)?,
    }
    let results = std::mem::take(&mut call.results);
    for made in results.iter().flatten().filter_map(Value::known) {
        let own = !call.operands.iter().flatten().filter_map(Value::known).any(|operand| operand.shares(made));
        call.site.room.take(if own { made.len() } else { 0 })?;
    }
    names.state(node, results, before, site)
}

/// The operator sets that a model is written in.
struct Opsets<'m> {
    model: &'m Model,
}

impl<'m> Opsets<'m> {
    fn new(model: &'m Model) -> Result<Self, ImportError> {
        let opsets = Self { model };
        let version = opsets.version("");
        if (OLDEST..=NEWEST).contains(&version) {
            return Ok(opsets);
        }
        Err(ImportError::Opset { version, oldest: OLDEST, newest: NEWEST })
    }

    fn version(&self, domain: &str) -> i64 {
        let own = |name: &str| if name == "ai.onnx" { "" } else { name }.to_owned();
        let mut all = self.model.opsets.iter();
        all.find(|(name, _)| own(name) == own(domain)).map_or(0, |(_, version)| *version)
    }

    fn find(&self, node: &Node) -> Result<&'static Onnx, Problem> {
        if let Some(fact) = facts::onnx(&node.domain, &node.op) {
            return Ok(fact);
        }
        if node.attributes.iter().any(|attribute| attribute.graph) {
            return Err(Problem::unsupported("control flow is not supported"));
        }
        if self.model.functions.contains(&node.op) {
            return Err(Problem::new(
                "it is a function defined in the file",
                "export the model with functions inlined",
            ));
        }
        Err(Problem::unsupported("the operator is not supported"))
    }
}
