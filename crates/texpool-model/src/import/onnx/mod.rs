//! The `.onnx` reader: parses messages, resolves extents, lowers nodes in order, and lists all refusals together.
//!
//! `fold` computes all values that are known at import, including the shape arithmetic that exporters leave in
//! graphs. `lower` turns the rest into nodes of the graph. Values have the extents stated in the file, whatever
//! layout they are computed in (`layout`).

mod alike;
mod array;
mod bodies;
mod bounded;
mod bounded_axes;
mod bounded_fused;
mod bounded_images;
mod bounded_indices;
mod bounded_joins;
mod bounded_means;
mod bounded_operands;
mod bounded_products;
mod bounded_shapes;
mod bounded_windows;
mod derived_extents;
mod dims;
mod element_type;
mod explained;
mod external;
mod fold;
mod foreign;
mod functions;
mod graph_io;
mod graph_lowering;
mod integers;
mod layout;
mod layout_selection;
mod lower;
mod lower_node;
mod masks;
mod metadata;
mod model;
mod names;
mod node_by_node;
mod node_lowering;
mod node_order;
mod notes;
mod op_registry;
mod open_extents;
mod opset6;
mod opsets;
mod outline;
mod passed;
mod preferred_input_layout;
mod quanta;
mod sizes;
mod stated;
mod taken;
mod tensor;
mod value;
mod wire;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

pub use array::Array;
pub(super) use lower::operators;
pub(super) use metadata::metadata;
pub(super) use op_registry::OnnxOpEntry;
pub(super) use opsets::{NEWEST, OLDEST};
pub(super) use outline::outline;

use super::{
    FakeQuant, ImportOptions,
    common::{
        finish::{finished, inexact},
        refusals::Refusals,
    },
    error::{ImportError, Problem},
    label::label,
    meter::Meter,
    model_file::Owner,
};
use functions::Definitions;
use graph_lowering::GraphLowering;
use lower_node::lower_node;
use model::{GraphIo, Model};
use names::Names;
use tensor::ValueSource;
use texpool_ops::graph::Graph;

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
    let mut values = ValueSource { replaces_types: true, ..ValueSource::new(owner, path) };
    let (graph, names) = lower_all(file, &Definitions::new(&model)?, options, meter, &mut values)?;
    values.notes.warn();
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
    let mut is_selected = vec![false; file.nodes.len()];
    for &node in nodes {
        is_selected[node] = true;
    }
    let mut is_selected = is_selected.into_iter();
    file.nodes.retain(|_| is_selected.next() == Some(true));
    file.inputs.retain(|port| options.constants.contains_key(&port.name));
    file.inputs.extend(inputs);
    file.outputs = outputs;
    // The extents of these inputs are known.
    let options = ImportOptions { dims: BTreeMap::new(), bounds: BTreeMap::new(), ..options.clone() };
    lower_all(&file, &Definitions::new(&model)?, &options, meter, &mut ValueSource::new(owner, path))
        .map(|(graph, _)| graph)
}

/// Parses a model. Returns it with what is left of the allowances.
fn parsed(owner: &Owner) -> Result<(Model, Meter), ImportError> {
    let bytes = (**owner).as_ref();
    let meter = RefCell::new(Meter::new(bytes.len()));
    let model = model_in(&wire::Message::of(bytes, &meter), bytes)?;
    Ok((model, meter.into_inner()))
}

/// Parses a model, with its nodes in order, and with the places that readers of selections take.
fn model_in(message: &wire::Message<'_>, file: &[u8]) -> Result<Model, ImportError> {
    let mut model = node_order::read(message).map_err(broken)?;
    model.graph.as_mut().map_or(Ok(()), |graph| taken::mark(graph, message, file)).map_err(broken)?;
    Ok(model)
}

/// Lowers all nodes, or fails with the list of those that are refused.
fn lower_all<'m>(
    file: &'m model::Graph,
    definitions: &Definitions<'_>,
    options: &ImportOptions,
    meter: Meter,
    values: &mut ValueSource,
) -> Result<(Graph, Names<'m>), ImportError> {
    let mut lowering = GraphLowering::new(meter);
    lowering.fake_quant = options.fake_quant;
    options.constants.values().for_each(|array| lowering.meter.widen(array.bytes()));
    lowering.graph.name = label(&file.name);
    let mut names = Names::new(file, &mut lowering.meter)?;
    graph_io::inputs(file, options, &mut lowering, &mut names, values)?;

    let mut refusals = Refusals::default();
    for (index, node) in file.nodes.iter().enumerate() {
        let outcome = lower_node(definitions.node(index), node, &mut lowering, &mut names, values);
        names.leave(node, &mut lowering.meter);
        let Err(mut problem) = outcome else { continue };
        if options.binds_extents() {
            problem = problem.with_bound_extents();
        }
        let [name, result] = node.called();
        refusals.note(index, name, &node.operator(), result, problem)?;
        if refusals.is_full() {
            break;
        }
    }
    refusals.finish()?;
    graph_io::outputs(file, options, &mut lowering, &mut names, values)?;
    if let Some((indices, problem)) = inexact(&mut lowering.graph) {
        let mut refusals = Refusals::default();
        for (index, node) in file.nodes.iter().enumerate().filter(|(index, _)| indices.contains(index)) {
            let [name, result] = node.called();
            refusals.note(index, name, &node.operator(), result, problem.clone())?;
        }
        refusals.finish()?;
    }
    if options.fake_quant != FakeQuant::Off {
        let GraphLowering { graph, meter, .. } = &mut lowering;
        quanta::compute_with_quanta(graph, meter).map_err(|problem| problem.of_graph_io("integers of", &file.name))?;
    }
    Ok((finished(lowering.graph, &lowering.meter)?, names))
}

fn no_graph() -> ImportError {
    ImportError::Malformed { what: "it holds no graph".to_owned() }
}

fn graph_of(model: &Model) -> Result<&model::Graph, ImportError> {
    model.graph.as_ref().ok_or_else(no_graph)
}

fn broken(error: wire::Broken) -> ImportError {
    match error.excess.map(|excess| Problem::from(excess).within(None, "", "")) {
        Some(Err(too_much)) => too_much,
        _ => ImportError::Malformed { what: format!("{} at byte {}", error.what, error.at) },
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
