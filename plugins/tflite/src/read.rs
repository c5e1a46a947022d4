//! Reads nodes with texpool's importer, and finds out which of them it refuses.

use std::collections::BTreeSet;

use texpool::{
    Error, ImportOptions, Model,
    import::{ImportError, UnsupportedOp},
};

use crate::{
    graph::{Node, Tensors},
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

/// Reason why a node is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Index of the node in the graph.
    pub(crate) node: i32,
    /// Name of the operator in the file's format, if it is known.
    pub(crate) operator: Option<String>,
    pub(crate) reason: String,
}

/// Reads nodes, which must be in execution order.
///
/// # Errors
/// Returns at least one refusal.
pub(crate) fn read(
    nodes: &[&Node],
    tensors: &Tensors<'_>,
    outputs: &[i32],
    options: &ImportOptions,
) -> Result<Readable, Vec<Refusal>> {
    let Written { bytes, inputs, outputs } =
        write(nodes, tensors, outputs).map_err(|(node, reason)| vec![Refusal { node, operator: None, reason }])?;
    match Model::from_bytes_with(bytes, options) {
        Ok(model) => Ok(Readable { model, inputs, outputs, extents: extents(nodes, tensors), ready: None }),
        Err(error) => Err(refusals(nodes, tensors, &error)),
    }
}

/// Returns the extents of all tensors that the nodes refer to.
pub(crate) fn extents(nodes: &[&Node], tensors: &Tensors<'_>) -> Vec<(i32, Vec<i32>)> {
    let named: BTreeSet<i32> = nodes.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs)).copied().collect();
    named.into_iter().filter_map(|index| Some((index, tensors.get(index)?.dims.clone()))).collect()
}

fn refusals(nodes: &[&Node], tensors: &Tensors<'_>, error: &Error) -> Vec<Refusal> {
    let all = |reason: String| {
        nodes.iter().map(|node| Refusal { node: node.index, operator: None, reason: reason.clone() }).collect()
    };
    let found: Vec<Refusal> = match error {
        Error::Import(ImportError::Unsupported(list)) => list.iter().filter_map(|op| unsupported(nodes, op)).collect(),
        Error::Import(ImportError::TooMuch(too_much)) => {
            let node = too_much.node.and_then(|position| nodes.get(position));
            let refusal = |node: &&Node| Refusal {
                node: node.index,
                operator: Some(too_much.operator.clone()),
                reason: format!("{}; {}", too_much.reason, too_much.hint),
            };
            node.map(refusal).into_iter().collect()
        }
        Error::Import(ImportError::GraphIo { tensor, reason, hint, .. }) => {
            let named = |index: &i32| tensors.get(*index).is_some_and(|found| found.name == *tensor);
            let touching = nodes.iter().filter(|node| node.inputs.iter().chain(&node.outputs).any(named));
            let reason = format!("{reason}; {hint}");
            touching.map(|node| Refusal { node: node.index, operator: None, reason: reason.clone() }).collect()
        }
        _ => Vec::new(),
    };
    // An error that does not refer to any node applies to all.
    if found.is_empty() { all(error.to_string()) } else { found }
}

fn unsupported(nodes: &[&Node], op: &UnsupportedOp) -> Option<Refusal> {
    let node = nodes.get(op.node)?.index;
    Some(Refusal { node, operator: Some(op.operator.clone()), reason: format!("{}; {}", op.reason, op.hint) })
}
