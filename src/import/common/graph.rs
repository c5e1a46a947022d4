//! Tensors and nodes that the file does not have, added to the graph.

use crate::{
    graph::{Constant, Epilogue, Graph, Node, Op, Shape, ShapeError, Tensor, TensorId, infer},
    import::error::Problem,
};

/// Bytes that the meter counts for a node or a tensor beside its names and values: a round figure above what the structs
/// and their short vectors take.
pub(in crate::import) const NODE_BYTES: usize = 512;

/// Characters that names of new tensors take over: one long name of the file may become part of thousands.
const STEM: usize = 128;

/// The beginning of the names of new tensors.
pub(in crate::import) fn stem(name: &str) -> String {
    name.chars().take(STEM).collect()
}

/// A tensor whose elements the caller would have as they are computed with.
pub(in crate::import) fn push_tensor(
    graph: &mut Graph,
    name: String,
    shape: Shape,
    constant: Option<Constant>,
) -> TensorId {
    graph.tensors.push(Tensor { constant, ..Tensor::new(name, shape) })
}

/// A node, for the file's operator of that index.
pub(in crate::import) fn push_node(
    graph: &mut Graph,
    op: Op,
    inputs: &[TensorId],
    epilogue: Epilogue,
    output: TensorId,
    op_index: usize,
) {
    graph.nodes.push(Node { op, inputs: inputs.to_vec(), output, epilogue, op_index, integers: None });
}

/// The shape that an operator gives, which is asked for as `wanted` where its operands do not say it.
pub(in crate::import) fn inferred(
    graph: &Graph,
    op: &Op,
    inputs: &[TensorId],
    wanted: Shape,
) -> Result<Shape, Problem> {
    let shapes: Vec<Shape> = inputs.iter().map(|&id| graph.shape(id)).collect();
    infer(op, &shapes, wanted).map_err(|error| match error {
        ShapeError::Positions { .. } | ShapeError::Overflow { .. } => Problem::limit(error.to_string()),
        _ => Problem::malformed(error.to_string()),
    })
}
