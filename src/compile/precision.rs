//! What floats cannot hold: indices, where there are more places than whole numbers that a format tells apart.

use super::error::CompileError;
use crate::{graph::Graph, ops, plan::TexelFormat};

/// Places that whole numbers from zero on tell apart in a format: one more than the last up to which it skips none.
const fn whole_numbers(format: TexelFormat) -> usize {
    match format {
        TexelFormat::Rgba32Float => (1 << f32::MANTISSA_DIGITS) + 1,
        TexelFormat::Rgba16Float => (1 << 11) + 1,
    }
}

/// Checks that indices keep their values in the texels of `format`, those that are read and those that are answered.
pub(super) fn check_indices(graph: &Graph, format: TexelFormat) -> Result<(), CompileError> {
    for node in &graph.nodes {
        let Some((tensor, places)) = ops::properties(graph, node).indices else { continue };
        // Constant indices become whole numbers without being stored.
        let format = if graph.is_constant(tensor) { TexelFormat::Rgba32Float } else { format };
        if places <= whole_numbers(format) {
            continue;
        }
        let (node, op, tensor) = (node.op_index, node.op.name(), graph.tensors[tensor].name.clone());
        return Err(match format {
            TexelFormat::Rgba16Float => CompileError::Indices { node, op, tensor, places },
            TexelFormat::Rgba32Float => CompileError::ManyIndices { node, op, tensor, places },
        });
    }
    Ok(())
}
