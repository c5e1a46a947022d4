//! Inputs and outputs of the graph.

use std::collections::{HashMap, HashSet};

use super::{
    array::{self, Array},
    derived_extents::derived_in,
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
    ExtentBound, ImportOptions,
    error::{ImportError, Problem},
    label::label,
};
use texpool_ops::graph::{
    Binary, BoundedInput, BoundedOutput, ElementType, ExtentLimit, LayoutPermutation, Op, Shape, TensorId,
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

/// Defines the graph's inputs, except those with a value in the file or a bound value, and those without elements.
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
    let is_input = |name: &str| open.iter().any(|(port, ..)| port.name == name);
    let limits = binding.finish(|name| names.is_result(name) || is_input(name))?;
    for (name, bound) in limits.iter().filter(|(name, _)| names.is_result(name)).copied().collect::<Vec<_>>() {
        names.limit(name, bound)?;
    }
    let mut preferred = PreferredLayouts::new(&file.nodes);
    let (empty, open): (Vec<_>, Vec<_>) = open.into_iter().partition(|(.., dims)| dims.contains(&0));
    for (port, elem, dims) in empty {
        names.define(&port.name, Value::Known(Array::nothing(dims, elem)));
    }
    let inputs: Vec<&str> = open.iter().map(|(port, ..)| port.name.as_str()).collect();
    for (port, elem, dims) in open {
        let tensor = input(&port.name, elem, dims, &mut preferred, lowering, names)
            .map_err(|problem| of_bound(problem, options))
            .map_err(refused("input", port))?;
        lowering.meter.state(lowering.graph.shape(tensor).len());
        lowering.graph.inputs.push(tensor);
        if let Some((name, bound)) = limits.iter().find(|(name, _)| *name == port.name) {
            names.limit(name, *bound)?;
            names.apply_limit(&port.name, lowering).map_err(refused("input", port))?;
        }
    }
    extents(&bounded, &inputs, lowering, names)
}

/// Adds an input for each extent that a run gives, and records the axes that have it. Those of an input without elements
/// follow from others.
fn extents(
    bounded: &[BoundedInputAxis<'_>],
    inputs: &[&str],
    lowering: &mut GraphLowering,
    names: &mut Names<'_>,
) -> Result<(), ImportError> {
    // By the extent's name: the index of its input, and the extent itself.
    let mut added: Vec<(&str, usize, Size)> = Vec::new();
    let given = |input: &str| inputs.iter().position(|other| *other == input);
    let (of_values, of_nothing): (Vec<_>, Vec<_>) = bounded.iter().partition(|axis| given(&axis.input).is_some());
    for BoundedInputAxis { input, axis, name, bound, more } in of_values.into_iter().chain(of_nothing) {
        let refused = |problem: Problem| problem.of_graph_io("input", input);
        let index = given(input);
        let (count, size) = match added.iter().find(|(other, ..)| other == name) {
            Some((_, count, size)) => (*count, size.clone()),
            None if index.is_none() => {
                let reason = format!("it has no elements, and its extent `{name}` is that of no other input");
                return Err(refused(Problem::new(reason, "bind the extent to a number")));
            }
            None => {
                let count = lowering.graph.inputs.len();
                let size = extent(name, *bound, lowering).map_err(refused)?;
                added.push((*name, count, size.clone()));
                (count, size)
            }
        };
        if let Some(input) = index {
            let bounded = BoundedInput { input, axis: *axis, count, step: bound.step, more: *more };
            lowering.graph.bounded_inputs.push(bounded);
        }
        let size = derived_in(lowering, &size, [1, *more as i64, 1]).map_err(refused)?;
        names.bind(input, BoundedAxis { axis: *axis, size });
    }
    Ok(())
}

/// Adds the input of an extent. An extent in steps is a multiple of the number of steps, and all that follows from it is
/// computed from that number, so that equal extents are known to be equal.
fn extent(name: &str, ExtentBound { most, step }: ExtentBound, lowering: &mut GraphLowering) -> Result<Size, Problem> {
    if most > MOST_PLACES {
        let reason = format!("its extent `{name}` is at most {most}, and runs of at most {MOST_PLACES} are supported");
        return Err(Problem::limit(reason));
    }
    let shape = Shape::new(1, 1, 1, 1);
    let tensor = lowering.input(&format!("extent {name}"), shape)?;
    lowering.graph.tensors[tensor].element_type = ElementType::I64;
    lowering.graph.inputs.push(tensor);
    let size = |tensor: TensorId, least: usize, bound: usize| Size {
        count: Computed { tensor, dims: vec![1], layout: AtomLayout::natural(&[1]), elem: ElementType::I64 },
        least,
        bound,
    };
    if step > 1 {
        let number = Array::of_ints(vec![1], ElementType::I64, vec![step as i64]);
        let number = lowering.constant(&number, shape)?;
        let steps = lowering.emit(Op::Binary(Binary::FloorDiv), &[tensor, number], shape)?;
        lowering.open.record(&size(steps, 1, most / step), [step as i64, 0, 1], tensor);
    }
    Ok(size(tensor, step, most))
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

/// The element type of an input. Floats of other widths become 32-bit ones where that is allowed.
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
        bounds.extend(names.bounds(&port.name).iter().map(|bound| (index, bound.clone())));
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
