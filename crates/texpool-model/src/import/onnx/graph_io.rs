//! Inputs and outputs of the graph.

use std::collections::HashSet;

use super::{
    array::{Array, count},
    dims::Binding,
    element_type::element_type,
    graph_lowering::GraphLowering,
    layout::AtomLayout,
    model::{Graph, GraphIo, IoType},
    names::Names,
    preferred_input_layout::PreferredLayouts,
    tensor::ValueSource,
    value::{BoundedAxis, Computed, Value},
};
use crate::import::{
    ImportOptions,
    error::{ImportError, Problem},
    label::label,
};
use texpool_ops::graph::{BoundedOutput, ElementType, LayoutPermutation, Op, TensorId};

fn refused(role: &'static str, port: &GraphIo) -> impl Fn(Problem) -> ImportError {
    move |problem| problem.of_graph_io(role, &port.name)
}

/// Adapts a problem if the caller bound extents, because those may be the cause.
fn of_bound(problem: Problem, options: &ImportOptions) -> Problem {
    if options.dims.is_empty() { problem } else { problem.with_bound_extents() }
}

/// Fails if values are bound to inputs that do not exist.
pub(super) fn bindable(file: &Graph, options: &ImportOptions) -> Result<(), ImportError> {
    let inputs: HashSet<&str> = file.inputs.iter().map(|port| port.name.as_str()).collect();
    let missing: Vec<String> = options.constants.keys().filter(|k| !inputs.contains(k.as_str())).cloned().collect();
    if missing.is_empty() { Ok(()) } else { Err(ImportError::NoSuchInput { names: missing }) }
}

/// Defines the graph's inputs, except those with a value in the file or a bound value.
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
        // Checked before the file's own value, which is only a default that the caller may replace.
        if let Some(array) = options.constants.get(&port.name) {
            let array = as_stated(array, port, &mut binding, lowering)?;
            names.define(&port.name, Value::Known(array));
        } else if !names.is_initializer(&port.name) {
            let elem = elem(port).map_err(refused("input", port))?;
            open.push((port, elem, binding.dims(port)?));
        }
    }
    // Before any tensor is created, so that all open extents are listed together.
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

/// Returns the constant of an input with the type and the extents that the file states. A single number is repeated.
pub(super) fn as_stated(
    array: &Array,
    port: &GraphIo,
    binding: &mut Binding<'_>,
    lowering: &mut GraphLowering,
) -> Result<Array, ImportError> {
    let refused = refused("input", port);
    // The type of an input that is not bound may be one that is refused.
    let typed = match elem(port) {
        Ok(elem) => array.converted(elem, &mut lowering.meter).map_err(&refused)?,
        Err(_) => array.clone(),
    };
    if binding.agrees(port, typed.dims()) {
        return Ok(typed);
    }
    let dims = binding.dims(port)?;
    let elements = count(&dims).map_err(&refused)?;
    match typed.len() {
        1 => {
            let number = typed.reshaped(&[]).map_err(&refused)?;
            number.broadcast(&dims, &mut lowering.meter).map_err(&refused)
        }
        values if values == elements => typed.reshaped(&dims).map_err(&refused),
        values => {
            let reason = format!("{values} numbers are bound to it, and it has {elements}: its extents are {dims:?}");
            Err(refused(Problem::new(reason, "bind one number for all, or one for each")))
        }
    }
}

/// Defines a name as an input tensor.
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

/// The element type of an input.
pub(super) fn elem(port: &GraphIo) -> Result<ElementType, Problem> {
    match &port.kind {
        IoType::Tensor(kind, _) => element_type(*kind),
        IoType::Unstated => Err(Problem::malformed("no type is stated")),
        IoType::Other(what) => {
            Err(Problem::new(format!("it is a {what}"), "export the model with plain tensors as inputs"))
        }
    }
}

/// Records the caller's view of an input or output: extents, order and element type as in the file.
fn stated(lowering: &mut GraphLowering, tensor: TensorId, view: &Computed, elem: ElementType) {
    let tensor = &mut lowering.graph.tensors[tensor];
    tensor.dims = view.dims.clone();
    tensor.host_permutation = LayoutPermutation::new(&view.layout.atoms, &view.layout.sequence()).unwrap_or_default();
    tensor.element_type = elem;
}

/// Returns the caller's element type of an output. This is the stated type if there is one and it agrees with the
/// nodes on being a float type. Otherwise it is the type that the nodes compute.
fn output_elem(port: &GraphIo, computed: ElementType) -> ElementType {
    elem(port).ok().filter(|stated| stated.is_float() == computed.is_float()).unwrap_or(computed)
}

/// Defines the graph's outputs.
pub(super) fn outputs(
    file: &Graph,
    options: &ImportOptions,
    lowering: &mut GraphLowering,
    names: &mut Names<'_>,
    values: &mut ValueSource,
) -> Result<(), ImportError> {
    let mut io_tensors: HashSet<TensorId> = lowering.graph.inputs.iter().copied().collect();
    let mut bounds = Vec::new();
    for (index, port) in file.outputs.iter().enumerate() {
        if let Some(bound) = names.bound(&port.name) {
            bounds.push((index, bound.clone()));
        }
        let tensor = output(port, lowering, names, values, &io_tensors)
            .map_err(|problem| of_bound(problem, options))
            .map_err(refused("output", port))?;
        io_tensors.insert(tensor);
        lowering.graph.outputs.push(tensor);
    }
    counts(&bounds, lowering)
}

/// Adds the extents that are found in a run behind the outputs, and records which output has which.
fn counts(bounds: &[(usize, BoundedAxis)], lowering: &mut GraphLowering) -> Result<(), ImportError> {
    let mut added: Vec<(TensorId, usize)> = Vec::new();
    for (output, bound) in bounds {
        let known = added.iter().find(|(tensor, _)| *tensor == bound.count.tensor);
        let count = match known {
            Some(&(_, count)) => count,
            None => {
                let shape = lowering.graph.shape(bound.count.tensor);
                // A copy, because the extent may be an output itself.
                let copied = lowering.emit(Op::Reshape, &[bound.count.tensor], shape);
                let tensor = copied.map_err(|problem| problem.of_graph_io("output", "extent"))?;
                let count = lowering.graph.outputs.len();
                lowering.graph.outputs.push(tensor);
                added.push((bound.count.tensor, count));
                count
            }
        };
        lowering.graph.bounded.push(BoundedOutput { output: *output, axis: bound.axis, count });
    }
    Ok(())
}

fn output(
    port: &GraphIo,
    lowering: &mut GraphLowering,
    names: &mut Names<'_>,
    values: &mut ValueSource,
    io_tensors: &HashSet<TensorId>,
) -> Result<TensorId, Problem> {
    let value = names.output(&port.name, values, &mut lowering.meter)?;
    lowering.begin(lowering.op_index, &port.name);
    if value.len() == 0 {
        return Err(Problem::empty(format!("it has no elements: its extents are {:?}", value.dims())));
    }
    let (computed, is_constant) = match &value {
        Value::Computed(computed) => (computed.clone(), false),
        Value::Known(array) => {
            let layout = AtomLayout::natural(array.dims());
            let tensor = lowering.place(&value, &layout)?;
            (Computed { tensor, dims: array.dims().to_vec(), layout, elem: array.element_type() }, true)
        }
    };
    // Every output needs a node that writes it, and a tensor that is not listed otherwise. Constants are copied. For
    // a tensor that is already an input or output, a reshape is added.
    let tensor = match (is_constant, io_tensors.contains(&computed.tensor)) {
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
