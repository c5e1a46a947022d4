//! Inputs and outputs of the graph.

use super::{
    ImportOptions,
    array::Elem,
    dims::Binding,
    layout::Layout,
    model::{Graph, Port, PortType},
    names::Names,
    site::Site,
    tensor::Values,
    value::{Computed, Value},
    wish::wish,
};
use crate::{
    graph::{Op, Order, TensorId},
    import::error::{ImportError, Problem},
};

fn refused(role: &'static str, port: &Port) -> impl Fn(Problem) -> ImportError {
    let tensor = port.name.clone();
    move |Problem { reason, remedy }| ImportError::Port {
        role,
        tensor: tensor.clone(),
        reason,
        remedy: remedy.to_owned(),
    }
}

/// Defines the graph's inputs: those that the file gives no value, and that are not bound to one.
pub(super) fn inputs<'m>(
    file: &'m Graph,
    options: &ImportOptions,
    site: &mut Site,
    names: &mut Names<'m>,
) -> Result<(), ImportError> {
    let missing: Vec<String> =
        options.constants.keys().filter(|k| !file.inputs.iter().any(|p| &p.name == *k)).cloned().collect();
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
    for (port, elem, dims) in open {
        let layout = wish(&file.nodes, &port.name, &dims);
        let tensor = site.input(&port.name, layout.shape()).map_err(refused("input", port))?;
        stated(site, tensor, &dims, &layout);
        site.graph.inputs.push(tensor);
        if !names.define(&port.name, Value::Computed(Computed { tensor, dims, layout, elem })) {
            return Err(ImportError::Damaged { what: format!("two inputs are called `{}`", port.name) });
        }
    }
    Ok(())
}

fn elem(port: &Port) -> Result<Elem, Problem> {
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
    tensor.order = Order::new(&layout.atoms, &layout.sequence()).unwrap_or_default();
}

/// Makes the graph's outputs of what the file names as such.
pub(super) fn outputs(
    file: &Graph,
    site: &mut Site,
    names: &mut Names<'_>,
    values: &mut Values,
) -> Result<(), ImportError> {
    for port in &file.outputs {
        let tensor = output(port, site, names, values).map_err(refused("output", port))?;
        site.graph.outputs.push(tensor);
    }
    Ok(())
}

fn output(port: &Port, site: &mut Site, names: &mut Names<'_>, values: &mut Values) -> Result<TensorId, Problem> {
    let value = names.output(&port.name, values)?;
    site.label.clone_from(&port.name);
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
    let taken = site.graph.inputs.contains(&computed.tensor) || site.graph.outputs.contains(&computed.tensor);
    let tensor = match (known, taken) {
        (true, _) => site.stored(computed.tensor)?,
        (false, true) => {
            let shape = site.graph.shape(computed.tensor);
            site.emit(Op::Reshape, &[computed.tensor], shape)?
        }
        (false, false) => computed.tensor,
    };
    stated(site, tensor, &computed.dims, &computed.layout);
    site.graph.tensors[tensor].name.clone_from(&port.name);
    Ok(tensor)
}
