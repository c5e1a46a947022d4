//! Inputs that the caller turns into constants.

use std::collections::BTreeMap;

use super::operator_lowering::SubgraphLowering;
use crate::import::{
    Array,
    common::graph::NODE_BYTES,
    error::{ImportError, Problem},
};
use texpool_ops::graph::{Constant, TensorId};

/// Gives inputs values, and takes them from the inputs of the graph. Fails if the model has no such input.
pub(super) fn bind(
    lowering: &mut SubgraphLowering<'_>,
    constants: &BTreeMap<String, Array>,
) -> Result<(), ImportError> {
    let mut missing = Vec::new();
    for (name, array) in constants {
        let is_called = |id: &&TensorId| lowering.tensors[**id].name == *name;
        let Some(&id) = lowering.graph.inputs.iter().find(is_called) else {
            missing.push(name.clone());
            continue;
        };
        let constant = constant(lowering, id, array).map_err(|problem| problem.of_graph_io("input", name))?;
        lowering.graph.tensors[id].constant = Some(constant);
        lowering.graph.inputs.retain(|input| *input != id);
    }
    if missing.is_empty() { Ok(()) } else { Err(ImportError::NoSuchInput { names: missing }) }
}

/// Returns the constant of an input with the type and the extents that the file states. A single number is repeated.
fn constant(lowering: &mut SubgraphLowering<'_>, id: TensorId, array: &Array) -> Result<Constant, Problem> {
    let (tensor, dims) = (&lowering.tensors[id], &lowering.graph.tensors[id].dims);
    let elements: usize = dims.iter().product();
    let (values, whole) = (array.to_f32(), array.to_i64());
    if ![1, elements].contains(&values.len()) {
        let reason =
            format!("{} numbers are bound to it, and it has {elements}: its extents are {dims:?}", values.len());
        return Err(Problem::new(reason, "bind one number for all, or one for each"));
    }
    lowering.meter.memory(elements.saturating_mul(2 * size_of::<i64>()).saturating_add(NODE_BYTES))?;
    let at = |place: usize| if values.len() == 1 { 0 } else { place };
    if tensor.is_float() {
        return Ok(Constant::from_f32(&(0..elements).map(|i| values[at(i)]).collect::<Vec<_>>()));
    }
    if !tensor.is_integer() {
        let reason = "only inputs of 32-bit floats, whole numbers or truth values can become constants";
        return Err(Problem::new(reason, "give its values in each run"));
    }
    let integer = |place: usize| -> Option<i32> {
        match whole {
            Some(integers) => i32::try_from(integers[at(place)]).ok(),
            None => Some(values[at(place)]).filter(|value| value.fract() == 0.0).map(|value| value as i32),
        }
    };
    let integers: Option<Vec<i32>> = (0..elements).map(integer).collect();
    match integers {
        Some(integers) if tensor.is_bool() => {
            Ok(Constant::from_i32(&integers.iter().map(|&value| i32::from(value != 0)).collect::<Vec<_>>()))
        }
        Some(integers) => Ok(Constant::from_i32(&integers)),
        None => Err(Problem::new("it has whole numbers of 32 bits", "bind such numbers to it")),
    }
}
