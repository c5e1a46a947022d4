//! What floats cannot hold: indices, where there are more places than whole numbers that a format tells apart.

use super::CompileError;
use crate::{
    graph::{Graph, Node, Op, TensorId},
    plan::TexelFormat,
};

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
        let Some((tensor, places)) = indices(graph, node) else { continue };
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

/// The indices that a node reads or answers, and the places that they tell apart.
fn indices(graph: &Graph, node: &Node) -> Option<(TensorId, usize)> {
    let extent = |tensor: TensorId, axis: usize| graph.shape(tensor).dims()[axis];
    match (&node.op, &node.inputs[..], &node.outputs[..]) {
        (&Op::Gather { axis } | &Op::GatherElements { axis }, &[table, indices, ..], _) => {
            Some((indices, extent(table, axis)))
        }
        (&Op::Reduce { kind, axes }, &[x, ..], &[to, ..]) if kind.is_index() => {
            let along = |axis: &usize| axes[*axis];
            Some((to, (0..4).filter(along).map(|axis| extent(x, axis)).product()))
        }
        (&Op::TopK { indices: true, .. }, &[x, ..], &[to, ..]) => Some((to, extent(x, 3))),
        _ => None,
    }
}
