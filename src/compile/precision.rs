//! Indices that texels cannot hold: values are stored as floats, which count whole numbers without gaps up to a limit
//! only.

use super::error::CompileError;
use crate::{graph::Graph, ops, plan::TexelFormat};

/// Checks that indices keep their values in the texels of `format`, those that are read and those that are answered.
pub(super) fn check_indices(graph: &Graph, format: TexelFormat) -> Result<(), CompileError> {
    for node in &graph.nodes {
        let Some((tensor, places)) = ops::properties(graph, node).indices else { continue };
        // Constant indices are turned into parameters of the shader, as integers; no texel holds them.
        let format = if graph.is_constant(tensor) { TexelFormat::Rgba32Float } else { format };
        // Indices count from zero.
        if places <= format.max_exact_integer() as usize + 1 {
            continue;
        }
        let (node, op, tensor) = (node.op_index, node.op.name(), graph.tensors[tensor].name.clone());
        return Err(match format {
            TexelFormat::Rgba16Float => CompileError::Indices { node, op, tensor, places },
            TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => {
                CompileError::ManyIndices { node, op, tensor, places }
            }
        });
    }
    Ok(())
}
