//! Checks that integers survive in the texels of a format: that indices and integer results are exact, and that
//! constants keep their values. Values are stored as floats, which represent all whole numbers only up to a limit.

use crate::error::CompileError;
use texpool_ops::{
    graph::{Constant, ElementType, Graph, IdVec, Node, Tensor},
    ops,
};
use texpool_plan::TexelFormat;

/// Checks that all indices, read or computed, keep their values in texels of `format`.
pub(super) fn check_indices(graph: &Graph, format: TexelFormat) -> Result<(), CompileError> {
    for node in &graph.nodes {
        let Some((tensor, places)) = ops::properties(graph, node).indices else { continue };
        // Constant indices become integer parameters of the shader; no texel holds them.
        let format = if graph.is_constant(tensor) { TexelFormat::Rgba32Float } else { format };
        // Indices start at zero.
        if places <= format.max_exact_integer() as usize + 1 {
            continue;
        }
        let (node, op, tensor) = (node.op_index, node.op.name(), graph.tensors[tensor].name.clone());
        return Err(match format {
            TexelFormat::Rgba16Float => CompileError::Indices { node, op, tensor, places },
            TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint | TexelFormat::Rgba8Uint => {
                CompileError::ManyIndices { node, op, tensor, places }
            }
        });
    }
    Ok(())
}

/// Records in each input of `limited` the range of integers that it may hold. `limited` was made from `graph`.
///
/// # Errors
/// Fails if a node's integers may be rounded for any range of inputs, or if a constant holds such an integer.
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

/// Checks that integer constants keep their values when stored as texels of `format`.
fn check_constants(graph: &Graph, format: TexelFormat) -> Result<(), CompileError> {
    let mut seen = IdVec::from_elem(false, &graph.tensors);
    for node in &graph.nodes {
        // Constant indices become integer parameters of the shader; no texel holds them.
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

/// Returns the first integer of a constant that texels of `format` cannot represent.
fn first_lost(constant: &Constant, tensor: &Tensor, format: TexelFormat) -> Option<i64> {
    let is_exact = |value: i64| {
        let float = match format {
            TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint | TexelFormat::Rgba8Uint => value as f32,
            TexelFormat::Rgba16Float => half::f16::from_f32(value as f32).to_f32(),
        };
        // Compares in 128 bits, because the float nearest to `i64::MAX` is out of range of `i64`.
        float as i128 == value.into()
    };
    if constant.scale.is_some() {
        return None;
    }
    match constant.to_i64() {
        Some(integers) => integers.into_iter().find(|&value| !is_exact(value)),
        // Integers that the importer already stored as exact floats (`import/onnx`).
        None if !tensor.element_type.is_float() => {
            let reals = constant.reals();
            (0..constant.len()).map(|i| reals.get(i) as i64).find(|&value| !is_exact(value))
        }
        None => None,
    }
}
