//! Lower bound on the device memory of every plan of a model, known without a search.

use super::device_bytes::WGPU;
use crate::lowered::LoweredModel;
use texpool_ops::{
    graph::{Graph, Node},
    ops,
};
use texpool_plan::TexelFormat;

/// Returns the lower bound in bytes: the memory that wgpu keeps for internal use, plus the rows that the most
/// demanding step needs. A step needs one row of its result and the rows of one operand that this row depends on.
/// They cannot overlap, because no step reads what it writes.
pub(crate) fn device_floor(lowered: &LoweredModel, format: TexelFormat) -> u64 {
    let LoweredModel { graph, views, in_place, .. } = lowered;
    // Views have no step, and operators whose parts are written in place may have none.
    let steps = graph.nodes.ids().filter(|&id| !views.contains(id) && !in_place.contains(id));
    let texels = steps.map(|id| {
        let node = &graph.nodes[id];
        let read = (0..=node.inputs.len()).map(|index| read_texels(graph, node, index)).max();
        graph.tensors[node.output].row_texels() as u64 + read.unwrap_or(0)
    });
    wgpu_bytes() + texels.max().unwrap_or(0) * format.texel_bytes()
}

/// Returns the memory that wgpu keeps for internal use on each device, in bytes.
pub(crate) fn wgpu_bytes() -> u64 {
    WGPU.into_iter().sum()
}

/// Returns the texels of an operand that the most demanding row of the result depends on.
fn read_texels(graph: &Graph, node: &Node, index: usize) -> u64 {
    let operands = node.inputs.iter().copied().chain(node.epilogue.add);
    let Some(tensor) = operands.into_iter().nth(index) else { return 0 };
    let rows = ops::input_rows(graph, node, index).unwrap_or_default();
    let most = rows.iter().map(|rows| rows.len() as u64).max().unwrap_or(0);
    most * graph.tensors[tensor].row_texels() as u64
}
