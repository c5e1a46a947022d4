//! Inputs and outputs of the graph.

use std::collections::HashSet;

use super::{
    array::Elem,
    dims::Binding,
    layout::Layout,
    model::{Graph, GraphIo, PortType},
    names::Names,
    preferred_input_layout::PreferredLayouts,
    site::Site,
    tensor::Values,
    value::{Computed, Value},
};
use crate::{
    graph::{LayoutPermutation, Op, TensorId},
    import::{
        ImportOptions,
        error::{ImportError, Problem},
        label::label,
    },
};

fn refused(role: &'static str, port: &GraphIo) -> impl Fn(Problem) -> ImportError {
    move |problem| match problem.within(None, "", &port.name) {
        Ok(Problem { reason, hint, .. }) => {
            let [tensor, reason] = [&port.name, &reason].map(|text| label(text));
            ImportError::GraphIo { role, tensor, reason, hint: hint.to_owned() }
        }
        Err(too_much) => too_much,
    }
}

/// Defines the graph's inputs: those that the file gives no value, and that are not bound to one.
pub(super) fn inputs<'m>(
    file: &'m Graph,
    options: &ImportOptions,
    site: &mut Site,
    names: &mut Names<'m>,
) -> Result<(), ImportError> {
    let inputs: HashSet<&str> = file.inputs.iter().map(|port| port.name.as_str()).collect();
    let missing: Vec<String> = options.constants.keys().filter(|k| !inputs.contains(k.as_str())).cloned().collect();
    if !missing.is_empty() {
        return Err(ImportError::NoSuchInput { names: missing });
    }
    let mut binding = Binding::new(&options.dims);
    let mut open = Vec::new();
    for port in &file.inputs {
        if let Some(array) = options.constants.get(&port.name) {
            names.define(&port.name, Value::Known(array.clone()));
        } else if !names.is_initializer(&port.name) {
            let elem = elem(port).map_err(refused("input", port))?;
            open.push((port, elem, binding.dims(port)?));
        }
    }
    binding.finish()?;
    let mut preferred = PreferredLayouts::new(&file.nodes);
    for (port, elem, dims) in open {
        let layout = preferred.of_input(&port.name, &dims);
        let tensor = site.input(&port.name, layout.shape()).map_err(refused("input", port))?;
        site.meter.state(site.graph.shape(tensor).len());
        stated(site, tensor, &dims, &layout);
        site.graph.inputs.push(tensor);
        names.define(&port.name, Value::Computed(Computed { tensor, dims, layout, elem }));
    }
    Ok(())
}

fn elem(port: &GraphIo) -> Result<Elem, Problem> {
    match &port.kind {
        PortType::Tensor(kind, _) => Elem::of(*kind),
        PortType::Unstated => Err(Problem::malformed("no type is stated")),
        PortType::Other(what) => {
            Err(Problem::new(format!("it is a {what}"), "export the model with plain tensors as inputs"))
        }
    }
}

/// Notes on an input or output how the caller has it.
fn stated(site: &mut Site, tensor: TensorId, dims: &[usize], layout: &Layout) {
    let tensor = &mut site.graph.tensors[tensor];
    tensor.dims = dims.to_vec();
    tensor.host_permutation = LayoutPermutation::new(&layout.atoms, &layout.sequence()).unwrap_or_default();
}

/// Makes the graph's outputs of what the file names as such.
pub(super) fn outputs(
    file: &Graph,
    site: &mut Site,
    names: &mut Names<'_>,
    values: &mut Values,
) -> Result<(), ImportError> {
    let mut taken: HashSet<TensorId> = site.graph.inputs.iter().copied().collect();
    for port in &file.outputs {
        let tensor = output(port, site, names, values, &taken).map_err(refused("output", port))?;
        taken.insert(tensor);
        site.graph.outputs.push(tensor);
    }
    Ok(())
}

fn output(
    port: &GraphIo,
    site: &mut Site,
    names: &mut Names<'_>,
    values: &mut Values,
    taken: &HashSet<TensorId>,
) -> Result<TensorId, Problem> {
    let value = names.output(&port.name, values, &mut site.meter)?;
    site.begin(site.op_index, &port.name);
    if value.len() == 0 {
        return Err(Problem::unsupported(format!("it has no elements: its extents are {:?}", value.dims())));
    }
    let (computed, known) = match &value {
        Value::Computed(computed) => (computed.clone(), false),
        Value::Known(array) => {
            let layout = Layout::natural(array.dims());
            let tensor = site.place(&value, &layout)?;
            (Computed { tensor, dims: array.dims().to_vec(), layout, elem: array.elem() }, true)
        }
    };
    // What goes out is computed by a node, and by one alone.
    let tensor = match (known, taken.contains(&computed.tensor)) {
        (true, _) => site.stored(computed.tensor)?,
        (false, true) => {
            let shape = site.graph.shape(computed.tensor);
            site.emit(Op::Reshape, &[computed.tensor], shape)?
        }
        (false, false) => computed.tensor,
    };
    stated(site, tensor, &computed.dims, &computed.layout);
    site.graph.tensors[tensor].name = label(&port.name);
    Ok(tensor)
}
