//! Inputs and outputs of the graph.

use std::collections::HashSet;

use super::{
    dims::Binding,
    element_type::element_type,
    graph_lowering::GraphLowering,
    layout::AtomLayout,
    model::{Graph, GraphIo, IoType},
    names::Names,
    preferred_input_layout::PreferredLayouts,
    tensor::ValueSource,
    value::{Computed, Value},
};
use crate::{
    graph::{ElementType, LayoutPermutation, Op, TensorId},
    import::{
        ImportOptions,
        error::{ImportError, Problem},
        label::label,
    },
};

fn refused(role: &'static str, port: &GraphIo) -> impl Fn(Problem) -> ImportError {
    move |problem| problem.of_graph_io(role, &port.name)
}

/// The same problem, where extents are bound one that they may be the reason of.
fn of_bound(problem: Problem, options: &ImportOptions) -> Problem {
    if options.dims.is_empty() { problem } else { problem.with_bound_extents() }
}

/// Refuses values for inputs that there are not.
pub(super) fn bindable(file: &Graph, options: &ImportOptions) -> Result<(), ImportError> {
    let inputs: HashSet<&str> = file.inputs.iter().map(|port| port.name.as_str()).collect();
    let missing: Vec<String> = options.constants.keys().filter(|k| !inputs.contains(k.as_str())).cloned().collect();
    if missing.is_empty() { Ok(()) } else { Err(ImportError::NoSuchInput { names: missing }) }
}

/// Defines the graph's inputs: those that the file gives no value, and that are not bound to one.
pub(super) fn inputs<'m>(
    file: &'m Graph,
    options: &ImportOptions,
    lowering: &mut GraphLowering,
    names: &mut Names<'m>,
) -> Result<(), ImportError> {
    bindable(file, options)?;
    let mut binding = Binding::new(&options.dims);
    let mut open = Vec::new();
    for port in &file.inputs {
        // Asked before the file's own value: that is a default, which the caller may replace.
        if let Some(array) = options.constants.get(&port.name) {
            names.define(&port.name, Value::Known(array.clone()));
        } else if !names.is_initializer(&port.name) {
            let elem = elem(port).map_err(refused("input", port))?;
            open.push((port, elem, binding.dims(port)?));
        }
    }
    // Before any tensor is made, so that all open extents are listed at once.
    binding.finish()?;
    let mut preferred = PreferredLayouts::new(&file.nodes);
    for (port, elem, dims) in open {
        let tensor = input(&port.name, elem, dims, &mut preferred, lowering, names)
            .map_err(|problem| of_bound(problem, options))
            .map_err(refused("input", port))?;
        lowering.meter.state(lowering.graph.shape(tensor).len());
        lowering.graph.inputs.push(tensor);
    }
    Ok(())
}

/// Defines a name as a tensor that comes from outside.
pub(super) fn input<'m>(
    name: &'m str,
    elem: ElementType,
    dims: Vec<usize>,
    preferred: &mut PreferredLayouts<'m>,
    lowering: &mut GraphLowering,
    names: &mut Names<'m>,
) -> Result<TensorId, Problem> {
    let layout = preferred.of_input(name, &dims);
    let tensor = lowering.input(name, layout.shape())?;
    let computed = Computed { tensor, dims, layout, elem };
    stated(lowering, tensor, &computed, elem);
    names.define(name, Value::Computed(computed));
    Ok(tensor)
}

/// The type of an input's elements.
pub(super) fn elem(port: &GraphIo) -> Result<ElementType, Problem> {
    match &port.kind {
        IoType::Tensor(kind, _) => element_type(*kind),
        IoType::Unstated => Err(Problem::malformed("no type is stated")),
        IoType::Other(what) => {
            Err(Problem::new(format!("it is a {what}"), "export the model with plain tensors as inputs"))
        }
    }
}

/// Notes on an input or output how the caller has it: in the extents and the order that the file sees it in.
fn stated(lowering: &mut GraphLowering, tensor: TensorId, seen: &Computed, elem: ElementType) {
    let tensor = &mut lowering.graph.tensors[tensor];
    tensor.dims = seen.dims.clone();
    tensor.host_permutation = LayoutPermutation::new(&seen.layout.atoms, &seen.layout.sequence()).unwrap_or_default();
    tensor.element_type = elem;
}

/// The type in which a caller has an output: the one that the file states for it. Where it states none, or integers for
/// what its nodes compute as floats or the other way round, it is what they compute.
fn output_elem(port: &GraphIo, computed: ElementType) -> ElementType {
    elem(port).ok().filter(|stated| stated.is_float() == computed.is_float()).unwrap_or(computed)
}

/// Makes the graph's outputs of what the file names as such.
pub(super) fn outputs(
    file: &Graph,
    options: &ImportOptions,
    lowering: &mut GraphLowering,
    names: &mut Names<'_>,
    values: &mut ValueSource,
) -> Result<(), ImportError> {
    let mut taken: HashSet<TensorId> = lowering.graph.inputs.iter().copied().collect();
    for port in &file.outputs {
        let tensor = output(port, lowering, names, values, &taken)
            .map_err(|problem| of_bound(problem, options))
            .map_err(refused("output", port))?;
        taken.insert(tensor);
        lowering.graph.outputs.push(tensor);
    }
    Ok(())
}

fn output(
    port: &GraphIo,
    lowering: &mut GraphLowering,
    names: &mut Names<'_>,
    values: &mut ValueSource,
    taken: &HashSet<TensorId>,
) -> Result<TensorId, Problem> {
    let value = names.output(&port.name, values, &mut lowering.meter)?;
    lowering.begin(lowering.op_index, &port.name);
    if value.len() == 0 {
        return Err(Problem::empty(format!("it has no elements: its extents are {:?}", value.dims())));
    }
    let (computed, known) = match &value {
        Value::Computed(computed) => (computed.clone(), false),
        Value::Known(array) => {
            let layout = AtomLayout::natural(array.dims());
            let tensor = lowering.place(&value, &layout)?;
            (Computed { tensor, dims: array.dims().to_vec(), layout, elem: array.element_type() }, true)
        }
    };
    // An output is written by a node, and goes out once: a constant is copied, and what is an input or another output
    // already gets a node of its own.
    let tensor = match (known, taken.contains(&computed.tensor)) {
        (true, _) => lowering.stored(computed.tensor)?,
        (false, true) => {
            let shape = lowering.graph.shape(computed.tensor);
            lowering.emit(Op::Reshape, &[computed.tensor], shape)?
        }
        (false, false) => computed.tensor,
    };
    stated(lowering, tensor, &computed, output_elem(port, computed.elem));
    lowering.graph.tensors[tensor].name = label(&port.name);
    Ok(tensor)
}
