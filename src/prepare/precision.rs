//! What 16-bit floats cannot hold: a lookup's indices, where there are more places than whole numbers they tell apart.

use super::PrepareError;
use crate::{
    graph::{Graph, Op},
    plan::TexelFormat,
};

/// One past the last whole number up to which 16-bit floats skip none.
const WHOLE_NUMBERS: usize = 2049;

/// Checks that indices keep their values in the texels of `format`.
pub(super) fn check_indices(graph: &Graph, format: TexelFormat) -> Result<(), PrepareError> {
    if format != TexelFormat::Rgba16Float {
        return Ok(());
    }
    for node in &graph.nodes {
        let (Op::Gather { axis } | Op::GatherElements { axis }, [table, indices, ..]) = (&node.op, &node.inputs[..])
        else {
            continue;
        };
        let places = graph.shape(*table).dims()[*axis];
        if places > WHOLE_NUMBERS {
            let tensor = graph.tensors[*indices].name.clone();
            return Err(PrepareError::Indices { node: node.origin, op: node.op.name(), tensor, places });
        }
    }
    Ok(())
}
