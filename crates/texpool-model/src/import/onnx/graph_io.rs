//! Inputs and outputs of the graph.

use std::collections::{HashMap, HashSet};

use super::{
    array::{self, Array},
    dims::{Binding, BoundedInputAxis},
    element_type::element_type,
    graph_lowering::GraphLowering,
    layout::AtomLayout,
    model::{Graph, GraphIo, IoType},
    names::Names,
    preferred_input_layout::PreferredLayouts,
    sizes,
    tensor::ValueSource,
    value::{BoundedAxis, Computed, MOST_PLACES, Size, Value},
};
use crate::import::{
    ImportOptions,
    error::{ImportError, Problem},
    label::label,
};
use texpool_ops::graph::{
    BoundedInput, BoundedOutput, ElementType, ExtentLimit, LayoutPermutation, Op, Shape, TensorId,
};

fn refused(role: &'static str, port: &GraphIo) -> impl Fn(Problem) -> ImportError {
    move |problem| problem.of_graph_io(role, &port.name)
}

/// Adapts a problem if the caller bound extents, because those may be the cause.
fn of_bound(problem: Problem, options: &ImportOptions) -> Problem {
    if options.binds_extents() { problem.with_bound_extents() } else { problem }
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
    values: &mut ValueSource,
) -> Result<(), ImportError> {
    bindable(file, options)?;
    let mut binding = Binding::new(&options.dims, &options.bounds);
    let mut open = Vec::new();
    for port in &file.inputs {
        // Checked before the file's own value, which is only a default that the caller may replace.
        if let Some(array) = options.constants.get(&port.name) {
            let array = as_stated(array, port, &mut binding, lowering)?;
            names.define(&port.name, Value::Known(array));
        } else if !names.is_initializer(&port.name) {
            let elem = elem_of_input(port, values).map_err(refused("input", port))?;
            open.push((port, elem, binding.dims(port)?));
        }
    }
    // Before any tensor is created, so that all open extents are listed together.
    let bounded = std::mem::take(&mut binding.bounded);
    for (name, bound) in binding.finish(|name| names.is_result(name))? {
        names.limit(name, bound)?;
    }
    let mut preferred = PreferredLayouts::new(&file.nodes);
    let inputs: Vec<&str> = open.iter().map(|(port, ..)| port.name.as_str()).collect();
    for (port, elem, dims) in open {
        let tensor = input(&port.name, elem, dims, &mut preferred, lowering, names)
            .map_err(|problem| of_bound(problem, options))
            .map_err(refused("input", port))?;
        lowering.meter.state(lowering.graph.shape(tensor).len());
        lowering.graph.inputs.push(tensor);
    }
    extents(&bounded, &inputs, lowering, names)
}

/// Adds an input for each extent that a run gives, and records the axes that have it.
fn extents(
    bounded: &[BoundedInputAxis<'_>],
    inputs: &[&str],
    lowering: &mut GraphLowering,
    names: &mut Names<'_>,
) -> Result<(), ImportError> {
    let refused = |input: &str, problem: Problem| problem.of_graph_io("input", input);
    let mut added: Vec<(&str, usize)> = Vec::new();
    for (position, BoundedInputAxis { input, axis, name, bound }) in bounded.iter().enumerate() {
        if let Some(other) = bounded[..position].iter().find(|other| other.input == *input) {
            let reason = format!(
                "each run is to give axis {}, `{}`, and axis {axis}, `{name}`, but can give only one axis of an input",
                other.axis, other.name
            );
            let hint =
                if other.name == *name { "bind this extent to a number" } else { "bind one of them to a number" };
            return Err(refused(input, Problem::new(reason, hint)));
        }
        if *bound > MOST_PLACES {
            let reason =
                format!("its extent `{name}` is at most {bound}, and runs of at most {MOST_PLACES} are supported");
            return Err(refused(input, Problem::limit(reason)));
        }
        let count = match added.iter().find(|(other, _)| other == name) {
            Some(&(_, count)) => count,
            None => {
                let count = lowering.graph.inputs.len();
                let tensor = lowering.input(&format!("extent {name}"), Shape::new(1, 1, 1, 1));
                let tensor = tensor.map_err(|problem| refused(input, problem))?;
                lowering.graph.tensors[tensor].element_type = ElementType::I64;
                lowering.graph.inputs.push(tensor);
                added.push((*name, count));
                count
            }
        };
        let Some(index) = inputs.iter().position(|other| other == input) else { continue };
        lowering.graph.bounded_inputs.push(BoundedInput { input: index, axis: *axis, count });
        let count = Computed {
            tensor: lowering.graph.inputs[count],
            dims: vec![1],
            layout: AtomLayout::natural(&[1]),
            elem: ElementType::I64,
        };
        let size = Size { count, least: 1, bound: *bound };
        names.bind(input, BoundedAxis { axis: *axis, size });
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
    let before = binding.bounded.len();
    let dims = binding.dims(port)?;
    if let Some(bounded) = binding.bounded.get(before) {
        let reason = format!("a constant is bound to it, and each run gives its extent `{}`", bounded.name);
        return Err(refused(Problem::new(reason, "bind the extent to a number")));
    }
    let elements = array::count(&dims).map_err(&refused)?;
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

/// The element type of an input. 64-bit floats become 32-bit ones where that is allowed.
fn elem_of_input(port: &GraphIo, values: &mut ValueSource) -> Result<ElementType, Problem> {
    match port.kind {
        IoType::Tensor(kind, _) => values.element_type(kind),
        _ => elem(port),
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
        match names.bounds(&port.name) {
            [] => {}
            [bound] => bounds.push((index, bound.clone())),
            [..] => {
                let reason = "two of its extents are given or found in a run, and only one can be";
                let problem = Problem::new(reason, "bind one of them to a number, or cut the graph in front of it");
                return Err(refused("output", port)(problem));
            }
        }
        let tensor = output(port, lowering, names, values, &io_tensors)
            .map_err(|problem| of_bound(problem, options))
            .map_err(refused("output", port))?;
        io_tensors.insert(tensor);
        lowering.graph.outputs.push(tensor);
    }
    counts(&bounds, lowering).map_err(|problem| problem.of_graph_io("output", "extent"))
}

/// Adds the extents that are found in a run behind the outputs, and records which output has which, and which have a
/// limit.
fn counts(bounds: &[(usize, BoundedAxis)], lowering: &mut GraphLowering) -> Result<(), Problem> {
    let mut added = HashMap::new();
    for (output, bound) in bounds {
        let count = count(bound.size.count.tensor, &mut added, lowering)?;
        lowering.graph.bounded.push(BoundedOutput { output: *output, axis: bound.axis, count });
    }
    for (name, number, most) in std::mem::take(&mut lowering.open.limits) {
        let count = count(number, &mut added, lowering)?;
        lowering.graph.limits.push(ExtentLimit { name, count, most });
    }
    Ok(())
}

/// Returns the output index of an extent. Adds the output if it is missing.
fn count(
    extent: TensorId,
    added: &mut HashMap<TensorId, usize>,
    lowering: &mut GraphLowering,
) -> Result<usize, Problem> {
    if let Some(&count) = added.get(&extent) {
        return Ok(count);
    }
    let shape = lowering.graph.shape(extent);
    // A copy, because the extent may be an output itself.
    let tensor = lowering.emit(Op::Reshape, &[extent], shape)?;
    let count = lowering.graph.outputs.len();
    lowering.graph.outputs.push(tensor);
    added.insert(extent, count);
    Ok(count)
}

fn output(
    port: &GraphIo,
    lowering: &mut GraphLowering,
    names: &mut Names<'_>,
    values: &mut ValueSource,
    io_tensors: &HashSet<TensorId>,
) -> Result<TensorId, Problem> {
    let value = names.output(&port.name, values, &mut lowering.meter)?;
    let value = sizes::as_tensor(value, names.sizes(&port.name))?;
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
