//! A node, and a whole graph, on the CPU.

use super::{
    epilogue,
    operands::{Operands, ReferenceError, fits},
};
use crate::{
    graph::{Graph, IdVec, Node, TensorId},
    ops::lookup,
};

/// The result of one node, its epilogue included. `values` holds one entry a tensor of the graph; constants are read
/// from the graph and need no entry.
///
/// # Errors
/// [`ReferenceError`] where an operand is missing, has no value, or one of another length than its tensor.
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

/// The values of every tensor of the graph, given those of its inputs in the graph's order, each as the file has it
/// ([`Tensor::host_permutation`](crate::graph::Tensor::host_permutation)). What is answered lies as it is computed
/// with; constants have no entry of their own unless the graph returns them.
///
/// # Errors
/// [`ReferenceError`] where the inputs do not fit the graph, or a node cannot be computed.
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

/// The values of the graph's outputs as the file has them, given those of its inputs likewise.
///
/// # Errors
/// As [`graph`].
pub fn outputs(model: &Graph, inputs: &[Vec<f32>]) -> Result<Vec<Vec<f32>>, ReferenceError> {
    let values = graph(model, inputs)?;
    let missing = |tensor| ReferenceError::NoValue { op_index: 0, op: "output", tensor };
    let output = |&tensor: &TensorId| {
        let lying = values[tensor].as_deref().ok_or_else(|| missing(tensor))?;
        Ok(model.tensors[tensor].host_permutation.to_file(lying).into_owned())
    };
    model.outputs.iter().map(output).collect()
}
