//! The `.tflite` reader: verifies the file, reads tensors, lowers operators in order, and lists all refusals
//! together.

mod bodies;
mod constants;
mod flex_map;
mod lower;
pub mod micro;
mod micro_error;
mod micro_file;
mod op_registry;
mod opcode;
mod operator_lowering;
mod outline;
mod reader;
mod schema;
mod sparse;
mod spectra;
mod tensors;
mod variables;

use std::collections::{BTreeMap, HashMap, HashSet};

use flatbuffers::{ForwardsUOffset, Verifiable, Verifier, VerifierOptions};

pub(super) use lower::operators;
pub(super) use op_registry::Described;
pub(super) use outline::outline;

use super::{
    Array, FakeQuant, ImportOptions, ModelMetadata,
    common::{
        finish::{finished, inexact},
        graph::NODE_BYTES,
        refusals::Refusals,
    },
    error::{ImportError, Problem},
    label::label,
    meter::Meter,
    model_file::Owner,
    outline::NodesToRead,
};
use lower::lower;
use opcode::Kind;
use operator_lowering::{OperatorLowering, SubgraphLowering};
use reader::{Schema, Table};
use schema::{Model, Operator, OperatorCode, SubGraph};
use spectra::Spectra;
use tensors::{FileTensor, tensor_id, tensors};
use texpool_ops::graph::{Concat, Epilogue, Graph, IdVec, Node, Op, Tensor, TensorId};
use texpool_plan::printable;
use variables::Variables;

const IDENTIFIER: &[u8] = b"TFL3";
const VERSION: u32 = 3;

/// Maximum number of further graphs that are named in a warning. Chosen: a file may have any number of them.
const MAX_WARNED: usize = 8;

/// Returns whether bytes begin like a model.
pub(super) fn is(bytes: &[u8]) -> bool {
    bytes.get(4..8) == Some(IDENTIFIER)
}

/// Reads a model. The graph has the name stated in the file. Its constants are borrowed from the bytes.
pub(super) fn read(owner: Owner, options: &ImportOptions) -> Result<Graph, ImportError> {
    let model = supported((*owner).as_ref())?;
    let subgraphs = model.subgraphs().unwrap_or_default();
    let Some((subgraph, others)) = subgraphs.split_first() else { return Err(no_graph()) };
    let operators = subgraph.operators().unwrap_or_default();
    let extents = Extents::Bound(&options.dims);
    let reading = Reading { fake_quant: options.fake_quant, extents, constants: Some(&options.constants) };
    let (graph, called) = lower_graph(&model, subgraph, &operators, ports(subgraph), &owner, reading)?;
    let others = others.iter().zip(1..).filter(|(_, index)| !called.contains(index)).map(|(graph, _)| graph);
    let others: Vec<&SubGraph<'_>> = others.collect();
    if !others.is_empty() {
        let name = |graph: &&SubGraph<'_>| label(&graph.name().unwrap_or_default());
        let names: Vec<String> = others.iter().take(MAX_WARNED).map(name).collect();
        let names = printable(&names.join(", ")).to_string();
        tracing::warn!(graphs = others.len(), names, "only the first graph of the model is read, others are left out");
    }
    Ok(graph)
}

/// Reads nodes of a graph of the model as a graph of their own.
fn read_nodes(
    owner: Owner,
    fake_quant: FakeQuant,
    extents: &[Option<Vec<usize>>],
    graph: usize,
    part: &NodesToRead<'_>,
) -> Result<Graph, ImportError> {
    let model = supported((*owner).as_ref())?;
    let subgraphs = model.subgraphs().unwrap_or_default();
    let subgraph = subgraphs.get(graph).ok_or_else(no_graph)?;
    let operators = subgraph.operators().unwrap_or_default();
    let operators: Vec<Operator<'_>> = part.nodes.iter().filter_map(|&node| operators.get(node).copied()).collect();
    let ports = [("input", part.inputs), ("output", part.outputs)].map(|(role, tensors)| IoTensors {
        role,
        ids: tensors.iter().map(|&tensor| i32::try_from(tensor).unwrap_or(-1)).collect(),
    });
    let reading = Reading { fake_quant, extents: Extents::Of(extents), constants: None };
    lower_graph(&model, subgraph, &operators, ports, &owner, reading).map(|(graph, _)| graph)
}

fn no_graph() -> ImportError {
    ImportError::Malformed { what: "it holds no graph".to_owned() }
}

/// Lowers operators of a graph, or fails with the list of those that are refused. Also returns the indices of other
/// graphs of the model that its operators have as branches, or call for the first values of variables.
fn lower_graph<'a>(
    model: &Model<'a>,
    subgraph: &SubGraph<'a>,
    operators: &[Operator<'a>],
    [inputs, outputs]: [IoTensors; 2],
    owner: &Owner,
    reading: Reading<'_>,
) -> Result<(Graph, HashSet<usize>), ImportError> {
    let file = (**owner).as_ref().len();
    let mut lowering = begun(model, (subgraph, operators), [&inputs, &outputs], file, Meter::new(file), reading)?;
    if let Some(constants) = reading.constants {
        constants::bind(&mut lowering, constants)?;
    }
    let codes = model.operator_codes().unwrap_or_default();
    lower_all(&mut lowering, owner, operators, &codes)?;
    inputs.computable(&lowering.graph.inputs, &lowering.tensors)?;
    outputs.computable(&lowering.graph.outputs, &lowering.tensors)?;
    lowering.variables.finish(&mut lowering.graph);
    note_host_types(&mut lowering);
    copy_outputs(&mut lowering, owner)?;
    refuse_inexact(&mut lowering, operators, &codes)?;
    lowering.called.extend(lowering.variables.called);
    Ok((finished(lowering.graph, &lowering.meter)?, lowering.called))
}

/// Reads the facts that a model states about its origin: its description and the name of its first graph.
pub(super) fn metadata(bytes: &[u8]) -> Result<ModelMetadata, ImportError> {
    let model = supported(bytes)?;
    let graphs = model.subgraphs().unwrap_or_default();
    let graph_name = graphs.first().and_then(SubGraph::name).unwrap_or_default();
    Ok(ModelMetadata { graph_name, description: model.description().unwrap_or_default(), ..ModelMetadata::default() })
}

/// Binds extents of inputs that the file leaves open. Fails with the names that are none of them.
fn bind(
    inputs: &[TensorId],
    tensors: &mut IdVec<TensorId, FileTensor<'_>>,
    dims: &BTreeMap<String, usize>,
) -> Result<(), Vec<String>> {
    let mut missing = Vec::new();
    for (name, &extent) in dims {
        let axis_of = |id: TensorId| {
            let axis = name.strip_prefix(&tensors[id].name)?.strip_prefix(':')?.parse().ok()?;
            tensors[id].is_open(axis).then_some((id, axis))
        };
        match inputs.iter().find_map(|&id| axis_of(id)) {
            Some((id, axis)) => tensors[id].bind(axis, extent),
            None => missing.push(name.clone()),
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(missing) }
}

/// Returns the error for bound names that are no open extents.
fn not_open(subgraph: &SubGraph<'_>, names: Vec<String>) -> ImportError {
    let (mut stated, mut open) = (Vec::new(), Vec::new());
    let tensors = subgraph.tensors().unwrap_or_default();
    for id in subgraph.inputs().unwrap_or_default().into_iter().take(MAX_WARNED) {
        let Some(tensor) = usize::try_from(id).ok().and_then(|id| tensors.get(id)) else { continue };
        let (name, shape) = (label(&tensor.name().unwrap_or_default()), tensor.shape().unwrap_or_default());
        let signature = tensor.shape_signature().unwrap_or_default();
        let axes = signature.iter().enumerate().take(tensors::MAX_RANK).filter(|(_, extent)| **extent < 0);
        open.extend(axes.map(|(axis, _)| format!("{name}:{axis}")));
        stated.push(format!("`{name}` {:?}", shape.into_iter().take(tensors::MAX_RANK).collect::<Vec<_>>()));
    }
    ImportError::FixedDims { names, stated, open }
}

/// Returns the model, if its version is supported.
fn supported(bytes: &[u8]) -> Result<Model<'_>, ImportError> {
    let model = verified::<Model<'static>>(bytes)?;
    if model.version() == VERSION { Ok(model) } else { Err(ImportError::Version(model.version())) }
}

/// How a graph is read.
#[derive(Clone, Copy)]
struct Reading<'r> {
    fake_quant: FakeQuant,
    extents: Extents<'r>,
    /// Values of inputs that the caller turned into constants.
    constants: Option<&'r BTreeMap<String, Array>>,
}

/// Extents beside those that the file states.
#[derive(Clone, Copy)]
enum Extents<'r> {
    /// Those of inputs that the caller bound, by name.
    Bound(&'r BTreeMap<String, usize>),
    /// Those of each tensor.
    Of(&'r [Option<Vec<usize>>]),
}

/// Creates the graph, before any operator is lowered.
fn begun<'a>(
    model: &Model<'a>,
    (subgraph, operators): (&SubGraph<'a>, &[Operator<'a>]),
    [inputs, outputs]: [&IoTensors; 2],
    file: usize,
    mut meter: Meter,
    reading: Reading<'_>,
) -> Result<SubgraphLowering<'a>, ImportError> {
    let buffers = model.buffers().unwrap_or_default();
    let mut tensors = match tensors(subgraph, &buffers, file, &mut meter) {
        Ok(tensors) => tensors,
        Err(problem) => return Err(ImportError::Malformed { what: problem.within(None, "", "")?.reason }),
    };
    let input_ids = inputs.tensor_ids(&tensors)?;
    let mut is_resized = false;
    match reading.extents {
        Extents::Bound(dims) => {
            bind(&input_ids, &mut tensors, dims).map_err(|names| not_open(subgraph, names))?;
            is_resized = !dims.is_empty();
        }
        Extents::Of(extents) => {
            let known = tensors.iter_mut().zip(extents);
            known.for_each(|(tensor, extents)| extents.iter().for_each(|extents| tensor.set_extents(extents)));
        }
    }
    let mut lowering = SubgraphLowering {
        graph: Graph {
            name: subgraph.name().unwrap_or_default(),
            tensors: tensors.iter().map(FileTensor::placeholder).collect(),
            outputs: outputs.tensor_ids(&tensors)?,
            inputs: input_ids,
            ..Graph::default()
        },
        ids: tensors.ids().collect(),
        tensors,
        meter,
        fake_quant: reading.fake_quant,
        is_resized,
        variables: Variables::new(model, operators),
        spectra: Spectra::default(),
        quanta: HashMap::new(),
        model: *model,
        lower,
        called: HashSet::new(),
        shared: HashMap::new(),
        depth: 0,
    };
    for &id in &lowering.graph.inputs {
        lowering.meter.state(lowering.graph.tensors[id].shape.len());
    }
    Ok(lowering)
}

/// Verifies everything that a root table's declaration reaches, and returns the table.
fn verified<S: Schema>(bytes: &[u8]) -> Result<S::Wrapper<'_>, ImportError> {
    let damaged = |what: String| ImportError::Malformed { what };
    // Tables may share parts, so the verifier may visit more bytes than the file has. The limit prevents a small file
    // with heavy sharing from keeping the verifier busy.
    let options = VerifierOptions {
        max_apparent_size: bytes.len().saturating_mul(4).saturating_add(1 << 20),
        ..VerifierOptions::default()
    };
    ForwardsUOffset::<S>::run_verifier(&mut Verifier::new(&options, bytes), 0)
        .map_err(|error| damaged(error.to_string().trim_end().replace('\n', ";")))?;
    Table::root(bytes).map(S::wrap).ok_or_else(|| damaged("it has no root table".to_owned()))
}

/// Returns inputs and outputs of a graph.
fn ports(subgraph: &SubGraph<'_>) -> [IoTensors; 2] {
    [("input", subgraph.inputs()), ("output", subgraph.outputs())]
        .map(|(role, ids)| IoTensors { role, ids: ids.unwrap_or_default() })
}

/// Inputs or outputs of a graph.
struct IoTensors {
    role: &'static str,
    ids: Vec<i32>,
}

impl IoTensors {
    fn tensor_ids(&self, tensors: &IdVec<TensorId, FileTensor<'_>>) -> Result<Vec<TensorId>, ImportError> {
        let tensor = |&id: &i32| {
            let missing =
                || ImportError::Malformed { what: format!("graph {} {id} is no tensor of the file", self.role) };
            tensor_id(id, tensors).ok_or_else(missing)
        };
        self.ids.iter().map(tensor).collect()
    }

    /// Checked after all operators are lowered, because those that read or write an invalid tensor report it in the
    /// list of refusals.
    fn computable(&self, ids: &[TensorId], tensors: &IdVec<TensorId, FileTensor<'_>>) -> Result<(), ImportError> {
        let refuse = |tensor: &FileTensor<'_>, problem: Problem| problem.of_graph_io(self.role, &tensor.name);
        ids.iter().try_for_each(|&id| tensors[id].computable().map_err(|problem| refuse(&tensors[id], problem)))
    }
}

/// Records the caller's element types of inputs and outputs.
fn note_host_types(lowering: &mut SubgraphLowering<'_>) {
    let SubgraphLowering { graph: Graph { tensors, inputs, outputs, .. }, tensors: stated, .. } = lowering;
    for &id in inputs.iter().chain(&*outputs) {
        let tensor = &mut tensors[id];
        (tensor.element_type, tensor.quantization) = stated[id].host_type();
    }
}

/// Gives every output a separate node that computes it. In a file, an output may be an input, a constant, or a tensor
/// that is listed twice.
fn copy_outputs(lowering: &mut SubgraphLowering<'_>, owner: &Owner) -> Result<(), ImportError> {
    let mut io_tensors: HashSet<TensorId> = lowering.graph.inputs.iter().copied().collect();
    for position in 0..lowering.graph.outputs.len() {
        let id = lowering.graph.outputs[position];
        let stated = &lowering.tensors[id];
        if lowering.graph.tensors[id].constant.is_none() && !io_tensors.contains(&id) && stated.has_values() {
            let constant = stated.constant(owner, &mut lowering.meter);
            lowering.graph.tensors[id].constant =
                constant.map_err(|problem| problem.of_graph_io("output", &stated.name))?;
        }
        let is_constant = lowering.graph.is_constant(id);
        if !is_constant && io_tensors.insert(id) {
            continue;
        }
        if let Err(excess) = lowering.meter.memory(2 * NODE_BYTES) {
            Problem::from(excess).within(None, "", &stated.name)?;
        }
        let integers =
            (!is_constant && stated.is_integer() && !stated.is_bool()).then(|| stated.element_type()).flatten();
        let graph = &mut lowering.graph;
        let copy = graph.tensors.push(Tensor { constant: None, ..graph.tensors[id].clone() });
        // Concatenations can read constants, so one with a single operand is a copy.
        let op = if is_constant { Op::Concat(Concat { axis: 3 }) } else { Op::Reshape };
        let op_index = graph.nodes.last().map_or(0, |node| node.op_index);
        let epilogue = Epilogue::default();
        graph.nodes.push(Node { op, inputs: vec![id], output: copy, epilogue, op_index, integers });
        graph.outputs[position] = copy;
    }
    Ok(())
}

/// Result of lowering an operator.
struct Lowered<'l, 'a> {
    node: usize,
    operator: &'l Operator<'a>,
    /// The operator, spelled as in the schema.
    kind: String,
    outcome: Result<(), Problem>,
}

impl Lowered<'_, '_> {
    /// Name of the result.
    fn name<'t>(&self, lowering: &'t SubgraphLowering<'_>) -> &'t str {
        let output = self.operator.outputs().and_then(|outputs| lowering.id(*outputs.first()?));
        output.map(|id| lowering.tensors[id].name.as_str()).unwrap_or_default()
    }
}

/// Fails with the list of all operators whose integers floats may not hold exactly, if there are any.
fn refuse_inexact(
    lowering: &mut SubgraphLowering<'_>,
    operators: &[Operator<'_>],
    codes: &[OperatorCode<'_>],
) -> Result<(), ImportError> {
    let Some((indices, problem)) = inexact(&mut lowering.graph) else { return Ok(()) };
    let mut refusals = Refusals::default();
    for (node, operator) in operators.iter().enumerate() {
        if indices.contains(&node) {
            let code = usize::try_from(operator.opcode()).ok().and_then(|i| codes.get(i));
            let kind = code.map(|code| Kind::of(code).name()).unwrap_or_default();
            let lowered = Lowered { node, operator, kind, outcome: Ok(()) };
            let name = lowered.name(lowering);
            refusals.note(node, name, &lowered.kind, name, problem.clone())?;
        }
    }
    refusals.finish()
}

/// Lowers all operators, or fails with the list of those that are refused.
fn lower_all<'a>(
    lowering: &mut SubgraphLowering<'a>,
    owner: &Owner,
    operators: &[Operator<'a>],
    codes: &[OperatorCode<'a>],
) -> Result<(), ImportError> {
    let mut refusals = Refusals::default();
    let is_open = lowering.graph.inputs.iter().any(|&id| lowering.tensors[id].has_open_axes());
    lower_each(lowering, owner, operators, codes, |lowering, mut lowered| {
        let Err(mut problem) = std::mem::replace(&mut lowered.outcome, Ok(())) else { return Ok(true) };
        problem = match (lowering.is_resized, is_open) {
            (true, _) => problem.with_bound_extents(),
            (false, true) => problem.with_open_extents(),
            (false, false) => problem,
        };
        let name = lowered.name(lowering);
        refusals.note(lowered.node, name, &lowered.kind, name, problem)?;
        Ok(!refusals.is_full())
    })?;
    refusals.finish()
}

/// Lowers operators in the file's order and reports each to `tell`, until `tell` returns false.
fn lower_each<'a>(
    lowering: &mut SubgraphLowering<'a>,
    owner: &Owner,
    operators: &[Operator<'a>],
    codes: &[OperatorCode<'a>],
    mut tell: impl FnMut(&mut SubgraphLowering<'a>, Lowered<'_, 'a>) -> Result<bool, ImportError>,
) -> Result<(), ImportError> {
    let unknown = Kind { builtin: None, custom: None };
    let kinds: Vec<Kind> = codes.iter().map(Kind::of).collect();
    for (node, operator) in operators.iter().enumerate() {
        let kind = usize::try_from(operator.opcode()).ok().and_then(|i| kinds.get(i)).unwrap_or(&unknown);
        let outcome = match kind.builtin {
            Some(_) => OperatorLowering::new(lowering, owner, *operator, node)
                .and_then(|mut context| lower(&mut context, &kind.name())),
            None => Err(Problem::new("its operator code is unknown", "convert the model with an older converter")),
        };
        let lowered = Lowered { node, operator, kind: kind.name(), outcome };
        if !tell(lowering, lowered)? {
            break;
        }
    }
    Ok(())
}
