//! Runs a node or a whole graph on the CPU.

use super::operands::{Operands, ReferenceError, fits};
use crate::{
    graph::{Act, Graph, IdVec, Node, Shape, TensorId},
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
    epilogue(&operands, result, out)
}

/// Applies the node's epilogue to its result: `then(first(result) + add)`.
fn epilogue(operands: &Operands<'_>, mut result: Vec<f32>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
    let epilogue = operands.node.epilogue;
    activate(operands, epilogue.first, &mut result, out)?;
    if let Some(add) = epilogue.add {
        let add = operands.tensor(add)?;
        let c = add.shape.c;
        // The addend may have fewer channels than the result: `zip` stops after these, and the rest is not changed.
        for (pixel, added) in result.chunks_mut(out.c.max(1)).zip(add.data.chunks(c.max(1))) {
            pixel.iter_mut().zip(added).for_each(|(x, a)| *x += a);
        }
    }
    activate(operands, epilogue.then, &mut result, out)?;
    Ok(result)
}

fn activate(operands: &Operands<'_>, act: Act, values: &mut [f32], out: Shape) -> Result<(), ReferenceError> {
    match act {
        Act::None => {}
        Act::Unary(unary) => values.iter_mut().for_each(|x| *x = unary.of(*x)),
        Act::Prelu(alphas) => {
            with_constant(operands, alphas, values, out, |x, alpha| if x < 0.0 { x * alpha } else { x })?;
        }
        Act::Plus(constant) => with_constant(operands, constant, values, out, |x, shift| x + shift)?,
        Act::Times(constant) => with_constant(operands, constant, values, out, |x, scale| x * scale)?,
        Act::DividedBy(constant) => with_constant(operands, constant, values, out, |x, divisor| x / divisor)?,
        Act::Requantize(requantize) => {
            let factors = operands.tensor(requantize.factors)?;
            let rows: Vec<&[f32]> = factors.data.chunks(out.c.max(1)).collect();
            for pixel in values.chunks_mut(out.c.max(1)) {
                for (c, x) in pixel.iter_mut().enumerate() {
                    *x = requantize.of(*x, std::array::from_fn(|row| rows[row][c]));
                }
            }
        }
    }
    Ok(())
}

/// Applies a function of each value and the constant's value of its channel.
fn with_constant(
    operands: &Operands<'_>,
    constant: TensorId,
    values: &mut [f32],
    out: Shape,
    function: fn(f32, f32) -> f32,
) -> Result<(), ReferenceError> {
    let constant = operands.tensor(constant)?;
    for pixel in values.chunks_mut(out.c.max(1)) {
        pixel.iter_mut().zip(constant.data.iter()).for_each(|(x, &c)| *x = function(*x, c));
    }
    Ok(())
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
