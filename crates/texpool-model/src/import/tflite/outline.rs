//! Lists the nodes of a `.tflite` file in their order. Every tensor states its extents, so nodes after a refused one
//! can be examined as usual.

use std::collections::BTreeMap;

use super::{
    Extents, Lowered, Reading, begun, lower_each,
    operator_lowering::SubgraphLowering,
    ports, read_nodes,
    schema::{Model, SubGraph},
    supported,
    tensors::VARIABLES,
    variables::{VariableUsers, called_once},
};
use crate::import::{
    FakeQuant, ImportOptions,
    error::{ImportError, Problem},
    label::label,
    meter::Meter,
    model_file::Owner,
    outline::{Format, GraphOutline, NodeOutline, Outline, PartReader, RefusalCount, TensorOutline, Verdict},
};
use texpool_ops::{
    graph::{Epilogue, Op, TensorId},
    ops,
};

/// Hint for an operator with branches.
const ALONE: &str = "the runtime computes it; a session of texpool alone computes all branches";

/// Hint for an operator of a variable that a runtime must keep.
const KEPT: &str = "the runtime computes it; a session of texpool alone keeps variables by itself";

/// Returns the outline of a file.
pub(in crate::import) fn outline(owner: Owner, options: &ImportOptions) -> Result<Outline, ImportError> {
    let bytes = (*owner).as_ref();
    let model = supported(bytes)?;
    let subgraphs = model.subgraphs().unwrap_or_default();
    let (mut graphs, mut refusals, mut meter) = (Vec::new(), RefusalCount::default(), Meter::new(bytes.len()));
    let users = VariableUsers::new(&model);
    for (index, subgraph) in subgraphs.iter().enumerate() {
        let outline;
        // Only the first graph has the caller's inputs.
        let dims = if index == 0 { &options.dims } else { &BTreeMap::new() };
        let calls_for_others = users.calls_for_others(index);
        let mut judge = Judge { users: &users, graph: index, calls_for_others, refusals: &mut refusals };
        (outline, meter) = graph(&model, subgraph, &owner, meter, dims, &mut judge)?;
        let (owner, fake_quant) = (Owner::clone(&owner), options.fake_quant);
        let dims = |tensor: &TensorOutline| tensor.dims.iter().flatten().copied().collect::<Option<Vec<usize>>>();
        let extents: Vec<_> =
            outline.tensors.iter().map(|tensor| dims(tensor).filter(|_| tensor.dims.is_some())).collect();
        let reader = PartReader::new(move |part| read_nodes(Owner::clone(&owner), fake_quant, &extents, index, part));
        graphs.push(GraphOutline { reader, ..outline });
    }
    if graphs.is_empty() {
        return Err(ImportError::Malformed { what: "it holds no graph".to_owned() });
    }
    Ok(Outline { format: Format::TfLite, graphs })
}

fn graph<'a>(
    model: &Model<'a>,
    subgraph: &SubGraph<'a>,
    owner: &Owner,
    meter: Meter,
    dims: &BTreeMap<String, usize>,
    judge: &mut Judge<'_>,
) -> Result<(GraphOutline, Meter), ImportError> {
    let [inputs, outputs] = ports(subgraph);
    let file = (**owner).as_ref().len();
    let operators = subgraph.operators().unwrap_or_default();
    let reading = Reading { fake_quant: FakeQuant::On, extents: Extents::Bound(dims), constants: None };
    let mut lowering = begun(model, (subgraph, &operators), [&inputs, &outputs], file, meter, reading)?;
    let codes = model.operator_codes().unwrap_or_default();
    let mut nodes = Vec::new();
    let mut before = 0;
    lower_each(&mut lowering, owner, &operators, &codes, |lowering, lowered| {
        let verdict = judge.verdict(lowering, &lowered, before);
        let operations = ops::operations(&lowering.graph, lowering.graph.nodes.iter().skip(before));
        before = lowering.graph.nodes.len();
        let node = NodeOutline { operations, ..node(lowering, &lowered, verdict) };
        if let Err(excess) = lowering.meter.memory(node.size()) {
            Problem::from(excess).within(None, "", "")?;
        }
        nodes.push(node);
        Ok(true)
    })?;
    let outline = GraphOutline {
        name: label(&lowering.graph.name),
        nodes,
        tensors: lowering.ids.iter().map(|&id| tensor(&lowering, id)).collect(),
        inputs: numbers(&inputs.ids, &lowering),
        outputs: numbers(&outputs.ids, &lowering),
        ..GraphOutline::default()
    };
    Ok((outline, lowering.meter))
}

/// Judges the nodes of a graph.
struct Judge<'u> {
    users: &'u VariableUsers,
    /// Index of the graph.
    graph: usize,
    /// True if it calls other graphs for variables that it does not have to itself.
    calls_for_others: bool,
    refusals: &'u mut RefusalCount,
}

impl Judge<'_> {
    fn verdict(&mut self, lowering: &SubgraphLowering<'_>, lowered: &Lowered<'_, '_>, before: usize) -> Verdict {
        let Self { users, graph, calls_for_others, refusals } = self;
        let mut new_nodes = lowering.graph.nodes.iter().skip(before).peekable();
        let mut operands = lowered.operator.inputs().unwrap_or_default().into_iter();
        let is_spectrum = |id: i32| lowering.id(id).is_some_and(|id| lowering.spectra.get(id).is_some());
        let is_spectrum = lowered.operator.outputs().unwrap_or_default().into_iter().any(is_spectrum);
        let mut tensors = [lowered.operator.inputs(), lowered.operator.outputs()].into_iter().flatten().flatten();
        let is_empty = |id: i32| lowering.id(id).is_some_and(|id| lowering.tensors[id].without_elements().is_some());
        let has_empty = tensors.any(is_empty);
        let is_variable = |id: i32| lowering.id(id).is_some_and(|id| lowering.tensors[id].is_variable());
        match &lowered.outcome {
            Err(problem) => Verdict::Refused(refusals.refusal(problem)),
            Ok(())
                if lowered.kind == "VAR_HANDLE" && users.has_others(lowered.operator, *graph)
                    || lowered.kind == "CALL_ONCE" && *calls_for_others =>
            {
                let reason = "another graph of the model has the variable, too, so the runtime keeps it";
                Verdict::Refused(refusals.refusal(&Problem::new(reason, KEPT)))
            }
            // TensorFlow Lite's own kernel fails here.
            Ok(()) if lowered.kind == "READ_VARIABLE" && lowering.lacks_first_value(lowered.operator) => {
                let reason = "its variable is read before it has a value, which the runtime decides about";
                Verdict::Refused(refusals.refusal(&Problem::new(reason, KEPT)))
            }
            Ok(()) if ["IF", "WHILE"].contains(&lowered.kind.as_str()) => {
                let reason = "its branches are graphs of their own, which the runtime keeps";
                Verdict::Refused(refusals.refusal(&Problem::new(reason, ALONE)))
            }
            Ok(()) if ["CONCATENATION", "SLICE", "STRIDED_SLICE"].contains(&lowered.kind.as_str()) && has_empty => {
                Verdict::Refused(refusals.refusal(&Problem::empty("one of its tensors has no elements")))
            }
            // A runtime keeps the state from run to run, and a node that is read alone starts from zeros.
            Ok(()) if operands.any(is_variable) => {
                let reason = "its state is a variable, which the runtime keeps from run to run";
                Verdict::Refused(refusals.refusal(&Problem::new(reason, VARIABLES)))
            }
            // The parts of a spectrum are computed where they are read.
            Ok(()) if new_nodes.peek().is_none() && !is_spectrum => Verdict::Known,
            Ok(()) if new_nodes.all(|node| matches!(node.op, Op::Reshape) && node.epilogue == Epilogue::default()) => {
                Verdict::Passed
            }
            Ok(()) => Verdict::Computed,
        }
    }
}

fn node(lowering: &SubgraphLowering<'_>, lowered: &Lowered<'_, '_>, verdict: Verdict) -> NodeOutline {
    NodeOutline {
        operator: label(&lowered.kind),
        name: label(lowered.name(lowering)),
        inputs: numbers(&lowered.operator.inputs().unwrap_or_default(), lowering),
        outputs: numbers(&lowered.operator.outputs().unwrap_or_default(), lowering),
        operations: 0,
        implicit: Vec::new(),
        calls_once: called_once(lowered.operator, &lowered.kind),
        verdict,
    }
}

/// Converts tensor numbers of the file to indices, and drops omitted operands.
fn numbers(ids: &[i32], lowering: &SubgraphLowering<'_>) -> Vec<usize> {
    ids.iter().filter_map(|&id| lowering.id(id).map(TensorId::index)).collect()
}

fn tensor(lowering: &SubgraphLowering<'_>, id: TensorId) -> TensorOutline {
    let tensor = &lowering.tensors[id];
    TensorOutline {
        name: label(&tensor.name),
        dims: tensor.stated().map(|_| lowering.graph.tensors[id].dims.iter().copied().map(Some).collect()),
        element_type: tensor.element_type(),
        // An empty list has no values to be given.
        constant: tensor.has_values() || tensor.empty_list,
        tried_bytes: None,
    }
}
