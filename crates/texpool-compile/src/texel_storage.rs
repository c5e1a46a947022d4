//! Chooses the representation of each tensor in a pool of bytes.

use texpool_model::rewrite::Rewritten;
use texpool_ops::{
    graph::{Graph, Node, NodeSet, Op, TensorId, TexelStorage},
    ops,
};
use texpool_plan::TexelFormat;

/// Sets the representation of each tensor in texels of `format`. Reshapes, concatenations and pads get a step of their
/// own if their operands are represented in another way than their results.
pub(super) fn choose(rewritten: &mut Rewritten, format: TexelFormat) {
    if format != TexelFormat::Rgba8Uint {
        return;
    }
    let Rewritten { graph, views, in_place, .. } = rewritten;
    let storages = ops::byte_storages(graph);
    for (tensor, storage) in graph.tensors.iter_mut().zip(storages) {
        tensor.storage = storage;
    }
    let share = |nodes: &NodeSet| nodes.iter().filter(|&id| shares_texels(graph, &graph.nodes[id])).collect();
    (*views, *in_place) = (share(views), share(in_place));
}

/// Returns whether the texels of a node's operands can be texels of its result.
fn shares_texels(graph: &Graph, node: &Node) -> bool {
    let result = &graph.tensors[node.output];
    let alike = |&operand: &TensorId| {
        let operand = &graph.tensors[operand];
        let rows = |tensor: &texpool_ops::graph::Tensor| (tensor.shape.rows(), tensor.row_texels());
        match result.storage {
            TexelStorage::Values | TexelStorage::Bytes { .. } => operand.storage == result.storage,
            // Planes lie as far apart as a row has texels.
            TexelStorage::Planes => node.op == Op::Reshape && rows(operand) == rows(result),
        }
    };
    node.inputs.iter().filter(|&&id| !graph.is_constant(id)).all(alike)
}
