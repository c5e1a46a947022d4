//! Detects indices that texels cannot represent. Values are stored as floats, which represent all whole numbers only
//! up to a limit.

use super::error::CompileError;
use crate::{graph::Graph, ops, plan::TexelFormat};

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
            TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => {
                CompileError::ManyIndices { node, op, tensor, places }
            }
        });
    }
    Ok(())
}
