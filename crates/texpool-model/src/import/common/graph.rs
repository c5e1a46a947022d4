//! Adds tensors and nodes to the graph that are not in the file.

use crate::import::{
    error::Problem,
    meter::{Excess, Meter},
};
use texpool_ops::graph::{
    Binary, Constant, Epilogue, Graph, IdVec, Node, Op, Shape, ShapeError, Tensor, TensorId, infer,
};

/// Bytes that the meter counts for a node or a tensor, in addition to its names and values. A round figure above the
/// size of the structs and their short vectors.
pub(in crate::import) const NODE_BYTES: usize = 512;

/// Number of characters that names of new tensors inherit. A long name in the file may become part of thousands of
/// others.
const STEM: usize = 128;

/// Maximum number of given tensors that a message names.
const MAX_SOURCES: usize = 4;

/// Returns the prefix for the names of new tensors.
pub(in crate::import) fn stem(name: &str) -> String {
    name.chars().take(STEM).collect()
}

/// Adds a tensor whose host order and type are those used for computing.
pub(in crate::import) fn push_tensor(
    graph: &mut Graph,
    name: String,
    shape: Shape,
    constant: Option<Constant>,
) -> TensorId {
    graph.tensors.push(Tensor { constant, ..Tensor::new(name, shape) })
}

/// Adds a node for the file's operator with index `op_index`.
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

/// Infers the shape of an operator's result. `stated` is used if the operands do not determine it.
pub(in crate::import) fn inferred(
    graph: &Graph,
    op: &Op,
    inputs: &[TensorId],
    stated: Shape,
) -> Result<Shape, Problem> {
    let shapes: Vec<Shape> = inputs.iter().map(|&id| graph.shape(id)).collect();
    infer(op, &shapes, stated).map_err(|error| match error {
        ShapeError::Positions { .. } | ShapeError::Overflow { .. } | ShapeError::Limit { .. } => {
            Problem::limit(error.to_string())
        }
        ShapeError::Outside { .. } => Problem::unsupported(error.to_string()),
        _ => Problem::malformed(error.to_string()),
    })
}

/// Lowers `condition ? x : y`, because the graph has no operator with three operands.
///
/// Returns the selected elements of `x` and those of `y`; the result is their sum. The other elements are replaced by
/// zeros, not multiplied by zero, because that would turn NaN and infinities into NaN.
pub(in crate::import) fn selected_parts<T>(
    condition: &T,
    [x, y]: [&T; 2],
    mut node: impl FnMut(Binary, [&T; 2]) -> Result<T, Problem>,
) -> Result<[T; 2], Problem> {
    Ok([node(Binary::ZeroUnless, [condition, x])?, node(Binary::ZeroIf, [condition, y])?])
}

/// Returns the names of the given tensors that a tensor is computed from, for a message.
pub(in crate::import) fn source_names(graph: &Graph, meter: &mut Meter, tensor: TensorId) -> Result<String, Excess> {
    let sources = sources(graph, meter, tensor)?;
    let mut names: Vec<String> = sources.iter().map(|&id| format!("`{}`", graph.tensors[id].name)).collect();
    if let Some(more @ 1..) = names.len().checked_sub(MAX_SOURCES) {
        names.truncate(MAX_SOURCES);
        names.push(format!("{more} more"));
    }
    Ok(names.join(", "))
}

/// Returns the names of the inputs that a tensor is computed from, if a caller can bind all of them: each is a single
/// number or truth value.
pub(in crate::import) fn deciding_inputs(
    graph: &Graph,
    meter: &mut Meter,
    tensor: TensorId,
) -> Result<Vec<String>, Excess> {
    let sources = sources(graph, meter, tensor)?;
    let is_single = |id: &TensorId| graph.inputs.contains(id) && graph.shape(*id).len() == 1;
    let are_few = sources.len() <= MAX_SOURCES && sources.iter().all(is_single);
    Ok(sources.iter().filter(|_| are_few).map(|&id| graph.tensors[id].name.clone()).collect())
}

/// Returns the given tensors that a tensor is computed from.
fn sources(graph: &Graph, meter: &mut Meter, tensor: TensorId) -> Result<Vec<TensorId>, Excess> {
    meter.work(graph.nodes.len() + graph.tensors.len())?;
    let mut needed = IdVec::from_elem(false, &graph.tensors);
    let mut is_given = IdVec::from_elem(true, &graph.tensors);
    needed[tensor] = true;
    for node in graph.nodes.iter().rev() {
        is_given[node.output] = false;
        if needed[node.output] {
            node.inputs.iter().for_each(|&id| needed[id] = true);
        }
    }
    let is_source = |&id: &TensorId| needed[id] && is_given[id] && graph.tensors[id].constant.is_none();
    Ok(graph.tensors.ids().filter(is_source).collect())
}
