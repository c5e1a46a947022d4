//! The `.onnx` reader: parses messages, resolves extents, lowers nodes in order, and lists all refusals together.
//!
//! `fold` computes all values that are known at import, including the shape arithmetic that exporters leave in
//! graphs. `lower` turns the rest into nodes of the graph. Values have the extents stated in the file, whatever
//! layout they are computed in (`layout`).

mod alike;
mod array;
mod bodies;
mod dims;
mod element_type;
mod explained;
mod external;
mod fold;
mod graph_io;
mod graph_lowering;
mod integers;
mod layout;
mod layout_selection;
mod lower;
mod metadata;
mod model;
mod names;
mod node_by_node;
mod node_lowering;
mod op_registry;
mod opset6;
mod outline;
mod preferred_input_layout;
mod stated;
mod tensor;
mod value;
mod wire;

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap, HashSet},
    path::{Path, PathBuf},
};

pub use array::Array;
pub(super) use lower::operators;
pub(super) use metadata::metadata;
pub(super) use op_registry::OnnxOpEntry;
pub(super) use outline::outline;

use super::{
    ImportOptions,
    common::{
        finish::{finished, inexact},
        refusals::Refusals,
    },
    error::{ImportError, Problem},
    label::label,
    meter::Meter,
    model_file::Owner,
    op_registry::Types,
};
use explained::explained;
use graph_lowering::GraphLowering;
use model::{GraphIo, Model, Node};
use names::{Names, Operand};
use node_lowering::NodeLowering;
use op_registry::{Fold, own_domain};
use tensor::ValueSource;
use texpool_ops::graph::Graph;

/// Supported operator sets.
pub(super) const OLDEST: i64 = 6;
pub(super) const NEWEST: i64 = 28;

/// Returns whether bytes may be a model, judging by its fields up to the graph.
pub(super) fn looks_right(bytes: &[u8]) -> bool {
    // Skips over fields without parsing them, so nothing is allocated and charged to the meter.
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

/// Reads a model. `path` is the path of its file, if any. Its values may be in external files in the same folder,
/// which are added to `beside`.
pub(super) fn read(
    owner: Owner,
    path: Option<&Path>,
    options: &ImportOptions,
    beside: &mut Vec<PathBuf>,
) -> Result<Graph, ImportError> {
    let (model, meter) = parsed(&owner)?;
    let file = graph_of(&model)?;
    let mut values = ValueSource::new(owner, path);
    let (graph, names) = lower_all(file, &Opsets::new(&model)?, options, meter, &mut values)?;
    beside.extend(values.external.paths().map(Path::to_owned));
    let bytes = (*values.owner.0).as_ref();
    stated::warn_of_others(file, wire::Message::of(bytes, &RefCell::new(Meter::new(bytes.len()))), &names);
    Ok(graph)
}

/// Reads nodes of a model as a graph of their own, with other inputs and outputs than the model's. Only those inputs of the
/// model remain whose value is bound.
fn read_nodes(
    owner: Owner,
    path: Option<&Path>,
    options: &ImportOptions,
    nodes: &[usize],
    [inputs, outputs]: [Vec<GraphIo>; 2],
) -> Result<Graph, ImportError> {
    let (mut model, meter) = parsed(&owner)?;
    let mut file = model.graph.take().ok_or_else(no_graph)?;
    let mut wanted = vec![false; file.nodes.len()];
    for &node in nodes {
        wanted[node] = true;
    }
    let mut wanted = wanted.into_iter();
    file.nodes.retain(|_| wanted.next() == Some(true));
    file.inputs.retain(|port| options.constants.contains_key(&port.name));
    file.inputs.extend(inputs);
    file.outputs = outputs;
    // The extents of these inputs are known.
    let options = ImportOptions { dims: BTreeMap::new(), ..options.clone() };
    lower_all(&file, &Opsets::new(&model)?, &options, meter, &mut ValueSource::new(owner, path)).map(|(graph, _)| graph)
}

/// Parses a model. Returns it with what is left of the allowances.
fn parsed(owner: &Owner) -> Result<(Model, Meter), ImportError> {
    let bytes = (**owner).as_ref();
    let meter = RefCell::new(Meter::new(bytes.len()));
    let model = Model::read(wire::Message::of(bytes, &meter)).map_err(broken)?;
    Ok((model, meter.into_inner()))
}

/// Lowers all nodes, or fails with the list of those that are refused.
fn lower_all<'m>(
    file: &'m model::Graph,
    opsets: &Opsets<'_>,
    options: &ImportOptions,
    meter: Meter,
    values: &mut ValueSource,
) -> Result<(Graph, Names<'m>), ImportError> {
    let mut lowering = GraphLowering::new(meter);
    lowering.fake_quant = options.fake_quant;
    options.constants.values().for_each(|array| lowering.meter.widen(array.bytes()));
    lowering.graph.name = label(&file.name);
    let mut names = Names::new(file, &mut lowering.meter)?;
    graph_io::inputs(file, options, &mut lowering, &mut names)?;

    let mut refusals = Refusals::default();
    for (index, node) in file.nodes.iter().enumerate() {
        let outcome = lower(index, node, opsets, &mut lowering, &mut names, values);
        names.leave(node, &mut lowering.meter);
        let Err(mut problem) = outcome else { continue };
        if !options.dims.is_empty() {
            problem = problem.with_bound_extents();
        }
        let [name, result] = called(node);
        refusals.note(index, name, &operator(node), result, problem)?;
        if refusals.is_full() {
            break;
        }
    }
    refusals.finish()?;
    graph_io::outputs(file, options, &mut lowering, &mut names, values)?;
    if let Some((indices, problem)) = inexact(&lowering.graph) {
        let mut refusals = Refusals::default();
        for (index, node) in file.nodes.iter().enumerate().filter(|(index, _)| indices.contains(index)) {
            let [name, result] = called(node);
            refusals.note(index, name, &operator(node), result, problem.clone())?;
        }
        refusals.finish()?;
    }
    Ok((finished(lowering.graph, &lowering.meter)?, names))
}

fn no_graph() -> ImportError {
    ImportError::Malformed { what: "it holds no graph".to_owned() }
}

fn graph_of(model: &Model) -> Result<&model::Graph, ImportError> {
    model.graph.as_ref().ok_or_else(no_graph)
}

/// The operator, spelled as in ONNX.
fn operator(node: &Node) -> String {
    if node.domain.is_empty() { node.op.clone() } else { format!("{}.{}", node.domain, node.op) }
}

/// Returns the name of a node, or else of its result, and the name of its first result.
fn called(node: &Node) -> [&str; 2] {
    let result = node.outputs.first().map(String::as_str).unwrap_or_default();
    [if node.name.is_empty() { result } else { &node.name }, result]
}

fn broken(found: wire::Broken) -> ImportError {
    match found.excess.map(|excess| Problem::from(excess).within(None, "", "")) {
        Some(Err(too_much)) => too_much,
        _ => ImportError::Malformed { what: format!("{} at byte {}", found.what, found.at) },
    }
}

/// Reads a tensor that is stored in a separate file.
pub(super) fn read_tensor(owner: Owner) -> Result<Array, ImportError> {
    let bytes = (*owner).as_ref();
    let meter = RefCell::new(Meter::new(bytes.len()));
    let tensor = model::Tensor::read(wire::Message::of(bytes, &meter)).map_err(broken)?;
    let refused = |problem: Problem| problem.of_graph_io("value", &tensor.name);
    let mut meter = meter.into_inner();
    ValueSource::new(owner, None).array(&tensor, &mut meter).map_err(refused)
}

/// Adds the graph nodes for a node of the file, or states its results as known.
fn lower<'m>(
    index: usize,
    node: &'m Node,
    opsets: &Opsets<'_>,
    lowering: &mut GraphLowering,
    names: &mut Names<'m>,
    values: &mut ValueSource,
) -> Result<(), Problem> {
    // Before its results get names, so that a node cannot read itself.
    let operands = names.operands(node, values, &mut lowering.meter);
    // Before anything can fail, so that readers know these results as missing instead of being refused as well.
    names.claim(node)?;
    let entry = opsets.find(node)?;
    // Reported after the lookup, because an unsupported operator is more important than an error in its operands.
    let operands = operands?;
    // A node that depends on the result of a refused node cannot be examined further.
    let Some(operands) = operands.into_iter().map(Operand::into_value).collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    let mut stated = HashSet::new();
    if let Some(twice) = node.attributes.iter().find(|attribute| !stated.insert(attribute.name.as_str())) {
        return Err(Problem::malformed(format!("it states its {} twice", twice.name)));
    }
    lowering.begin(index, node.outputs.iter().find(|name| !name.is_empty()).map(String::as_str).unwrap_or_default());
    if !entry.support.types.keeps_bytes() {
        let arrays = operands.iter().flatten().filter_map(value::Value::known);
        arrays.into_iter().try_for_each(|array| array.widen(&mut lowering.meter))?;
    }
    // A node without operands is also foldable: constants are such nodes.
    let known = operands.iter().flatten().all(|value| value.known().is_some());
    let read = node.outputs.iter().map(|name| names.is_read(name)).collect();
    let opset = opsets.version(&node.domain);
    let results = vec![None; node.outputs.len()];
    let (before, first) = (lowering.graph.tensors.len(), lowering.graph.nodes.len());
    let mut ctx = NodeLowering { lowering, node, opset, operands, results, read, values };
    let fold = entry.fold.filter(|_| known);
    let charged = apply(entry, fold, &mut ctx).map_err(|problem| explained(problem, node, &ctx.operands))?;
    // Quantised integers represent reals, so they are not marked.
    if entry.support.types != Types::Quantised {
        integers::mark(&mut ctx, first)?;
    }
    let results = std::mem::take(&mut ctx.results);
    drop(ctx);
    let made = results.iter().flatten().filter_map(value::Value::known).map(Array::freed).sum();
    if fold.is_some() && lowering.graph.tensors.len() == before {
        // All other memory that the evaluation took is free again.
        lowering.meter.keep(charged, made);
    } else {
        lowering.meter.memory(made)?;
    }
    names.state(node, results, before, lowering)
}

/// Runs `fold`, which computes the node's results while importing, or else adds graph nodes for them. Returns the memory
/// that was held before.
fn apply(entry: &OnnxOpEntry, fold: Option<Fold>, ctx: &mut NodeLowering<'_>) -> Result<u64, Problem> {
    opset6::upgrade(ctx, entry.before_opset7)?;
    if fold.is_some() && entry.fold_reads_elements {
        ctx.write_out()?;
    }
    let held = ctx.meter().held();
    fold.unwrap_or(entry.lower)(ctx)?;
    Ok(held)
}

/// The operator sets that a model uses.
struct Opsets<'m> {
    functions: &'m HashSet<String>,
    versions: HashMap<&'m str, i64>,
}

impl<'m> Opsets<'m> {
    fn new(model: &'m Model) -> Result<Self, ImportError> {
        let mut versions = HashMap::new();
        for (domain, version) in &model.opsets {
            // ONNX's own domain has two names, so two entries may belong to the same domain.
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
        if let Some(entry) = lower::find(&node.domain, &node.op) {
            return Ok(entry);
        }
        if node.attributes.iter().any(|attribute| !attribute.bodies.is_empty()) {
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
