//! Integers and the texels of a format: whether what a graph computes of them is exact, and constants are what they were.

use super::error::CompileError;
use crate::{
    graph::{Constant, ElementType, Graph, IdVec, Node, Tensor},
    ops,
    plan::TexelFormat,
};

/// Notes on the inputs of `limited` which integers they may hold, for the graph that it was made of.
///
/// # Errors
/// For a node whose integers may be rounded whatever the inputs are, and for a constant with such an integer.
pub(super) fn limit_inputs(graph: &Graph, limited: &mut Graph, format: TexelFormat) -> Result<(), CompileError> {
    check_constants(graph, format)?;
    let most = format.max_exact_integer();
    let ranges = match ops::input_ranges(graph, most) {
        Ok(ranges) => ranges,
        Err(nodes) => return nodes.first().map_or(Ok(()), |node| Err(inexact(graph, node, format))),
    };
    for (&id, range) in limited.inputs.iter().zip(ranges) {
        limited.tensors[id].integer_range = range;
    }
    Ok(())
}

fn inexact(graph: &Graph, node: &Node, format: TexelFormat) -> CompileError {
    CompileError::Integers {
        node: node.op_index,
        op: node.op.name(),
        tensor: graph.tensors[node.output].name.clone(),
        element_type: node.integers.unwrap_or(ElementType::I64),
        bits: format.float_bits(),
        most: format.max_exact_integer(),
    }
}

/// Checks that constants of integers are what the file says once they are texels of `format`.
fn check_constants(graph: &Graph, format: TexelFormat) -> Result<(), CompileError> {
    let mut seen = IdVec::from_elem(false, &graph.tensors);
    for node in &graph.nodes {
        // Constant indices are turned into parameters of the shader, as integers; no texel holds them.
        let indices = ops::properties(graph, node).indices.map(|(indices, _)| indices);
        for id in node.operands().filter(|&id| Some(id) != indices) {
            if std::mem::replace(&mut seen[id], true) {
                continue;
            }
            let tensor = &graph.tensors[id];
            if let Some(value) = tensor.constant.as_ref().and_then(|constant| first_lost(constant, tensor, format)) {
                let tensor = tensor.name.clone();
                return Err(CompileError::InexactConstant { tensor, value, bits: format.float_bits() });
            }
        }
    }
    Ok(())
}

/// The first integer of a constant that texels of `format` do not hold.
fn first_lost(constant: &Constant, tensor: &Tensor, format: TexelFormat) -> Option<i64> {
    let held = |value: i64| {
        let float = match format {
            TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => value as f32,
            TexelFormat::Rgba16Float => half::f16::from_f32(value as f32).to_f32(),
        };
        // In 128 bits: the float next to the greatest integer of 64 is none of them.
        float as i128 == value.into()
    };
    if constant.scale.is_some() {
        return None;
    }
    match constant.to_i64() {
        Some(integers) => integers.into_iter().find(|&value| !held(value)),
        // Integers that floats hold exactly already (`import/onnx`).
        None if !tensor.element_type.is_float() => {
            let reals = constant.reals();
            (0..constant.len()).map(|i| reals.get(i) as i64).find(|&value| !held(value))
        }
        None => None,
    }
}
