//! Runs a node or a whole graph on the CPU.

use super::{
    epilogue,
    operands::{Operands, ReferenceError, fits},
};
use crate::{
    graph::{Graph, IdVec, Node, TensorId},
    ops::lookup,
};

/// Computes the result of one node, including its epilogue. `values` has one entry per tensor of the graph; constants
/// are read from the graph and need no entry.
///
/// # Errors
/// Fails with [`ReferenceError`] if an operand is missing, has no value, or has a value of the wrong length.
pub fn node(
    graph: &Graph,
    node: &Node,
    values: &IdVec<TensorId, Option<Vec<f32>>>,
) -> Result<Vec<f32>, ReferenceError> {
    let operands = Operands { graph, node, values };
    let out = operands.output();
    let result = lookup::reference(&operands, node, out)?;
    epilogue::apply(&operands, result, out)
}

/// Computes the values of every tensor of the graph. `inputs` are in the graph's order and in the layout of the file
/// ([`Tensor::host_permutation`](crate::graph::Tensor::host_permutation)). The result is in the layout used for
/// computing; constants have no entry unless the graph returns them.
///
/// # Errors
/// Fails with [`ReferenceError`] if the inputs do not fit the graph, or a node cannot be computed.
pub fn graph(graph: &Graph, inputs: &[Vec<f32>]) -> Result<IdVec<TensorId, Option<Vec<f32>>>, ReferenceError> {
    if inputs.len() != graph.inputs.len() {
        return Err(ReferenceError::Inputs { expected: graph.inputs.len(), found: inputs.len() });
    }
    let mut values = IdVec::from_elem(None, &graph.tensors);
    for (&tensor, input) in graph.inputs.iter().zip(inputs) {
        fits(graph, tensor, input.len())?;
        values[tensor] = Some(graph.tensors[tensor].host_permutation.from_file(input).into_owned());
    }
    for step in &graph.nodes {
        values[step.output] = Some(node(graph, step, &values)?);
    }
    for &output in &graph.outputs {
        if let Some(constant) = &graph.tensors[output].constant {
            values[output] = Some(constant.to_f32().into_owned());
        }
    }
    Ok(values)
}

/// Computes the graph's outputs. Inputs and outputs are in the layout of the file.
///
/// # Errors
/// Fails like [`graph`].
pub fn outputs(model: &Graph, inputs: &[Vec<f32>]) -> Result<Vec<Vec<f32>>, ReferenceError> {
    let values = graph(model, inputs)?;
    let missing = |tensor| ReferenceError::NoValue { op_index: 0, op: "output", tensor };
    let output = |&tensor: &TensorId| {
        let lying = values[tensor].as_deref().ok_or_else(|| missing(tensor))?;
        Ok(model.tensors[tensor].host_permutation.to_file(lying).into_owned())
    };
    model.outputs.iter().map(output).collect()
}
