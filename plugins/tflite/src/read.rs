//! Reads nodes with texpool's importer.

use std::collections::BTreeSet;

use texpool::{ImportOptions, Model};

use crate::{
    graph::{Node, Tensors},
    other_graph::OtherGraph,
    ready::Ready,
    written::{Written, write},
};

/// Nodes that were read as a model.
#[derive(Debug)]
pub(crate) struct Readable {
    pub(crate) model: Model,
    /// Indices of the model's inputs among the graph's tensors, in the model's order.
    pub(crate) inputs: Vec<i32>,
    /// Indices of the model's outputs among the graph's tensors, in the model's order.
    pub(crate) outputs: Vec<i32>,
    /// Extents of all tensors at the time of reading.
    pub(crate) extents: Vec<(i32, Vec<i32>)>,
    /// The model on the device, once it is there.
    pub(crate) ready: Option<Ready>,
}

/// Reads nodes, which must be in execution order, with the graphs of first values that they call.
///
/// # Errors
/// If the importer refuses any of them.
pub(crate) fn read(
    nodes: &[&Node],
    tensors: &Tensors<'_>,
    outputs: &[i32],
    others: &[OtherGraph],
    options: &ImportOptions,
) -> Result<Readable, texpool::Error> {
    let Written { bytes, inputs, outputs, .. } = write(nodes, tensors, outputs, others);
    let model = Model::from_bytes_with(bytes, options)?;
    Ok(Readable { model, inputs, outputs, extents: extents(nodes, tensors), ready: None })
}

/// Returns the extents of all tensors that the nodes refer to.
pub(crate) fn extents(nodes: &[&Node], tensors: &Tensors<'_>) -> Vec<(i32, Vec<i32>)> {
    let named: BTreeSet<i32> = nodes.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs)).copied().collect();
    named.into_iter().filter_map(|index| Some((index, tensors.get(index)?.dims.clone()))).collect()
}
