//! Reads partitions as graphs of their own. The importer may then refuse nodes that it accepts in the whole file, because
//! a partition knows less of its inputs.

use super::{boundary::reads, selection::Partition};
use crate::import::{GraphOutline, ImportError, NodesToRead, PartReader, Refusal};
use texpool_ops::graph::Graph;

/// Nodes that are refused, with the reasons.
pub(super) type Refused = Vec<(usize, Refusal)>;

/// Reads a partition. `of_node` returns a node as a partition of its own.
pub(super) fn read(
    graph: &GraphOutline,
    reader: &PartReader,
    partition: &Partition,
    of_node: &dyn Fn(usize) -> Partition,
) -> Result<Graph, Refused> {
    let read = |partition: &Partition| {
        let Partition { computed, inputs, extents, outputs, .. } = partition;
        reader.read(&NodesToRead { nodes: computed, inputs: &[&inputs[..], extents].concat(), outputs })
    };
    let part = read(partition).map_err(|error| {
        let mut refused = refused(graph, partition, &error);
        if refused.is_empty() && partition.nodes.len() > 1 {
            // The error names no node. Those count that are also refused alone, other than for operands that are constant
            // in the partition, but unknown here.
            let alone = |&node: &usize| match read(&of_node(node)) {
                Ok(_) | Err(ImportError::Unsupported(_)) => None,
                Err(error) => Some((node, of_error(&error))),
            };
            refused = partition.nodes.iter().filter_map(alone).collect();
        }
        if refused.is_empty() {
            refused = partition.nodes.iter().map(|&node| (node, of_error(&error))).collect();
        }
        refused
    })?;
    let refused = of_other_types(graph, partition, &part);
    if refused.is_empty() { Ok(part) } else { Err(refused) }
}

/// Returns the nodes that an error names.
fn refused(graph: &GraphOutline, partition: &Partition, error: &ImportError) -> Refused {
    let at = |position: usize| partition.computed.get(position).copied();
    let of_tensor = |name: &str, refusal: &Refusal| {
        let named = |&tensor: &usize| graph.tensors[tensor].name == name;
        let touches = |&&node: &&usize| {
            let node = &graph.nodes[node];
            reads(node).chain(node.outputs.iter().copied()).any(|tensor| named(&tensor))
        };
        partition.nodes.iter().filter(touches).map(|&node| (node, refusal.clone())).collect()
    };
    match error {
        ImportError::Unsupported(list) => list
            .iter()
            .filter_map(|op| Some((at(op.node)?, Refusal { reason: op.reason.clone(), hint: op.hint.clone() })))
            .collect(),
        ImportError::TooMuch(too_much) => {
            let refusal = Refusal { reason: too_much.reason.clone(), hint: too_much.hint.clone() };
            match too_much.node.and_then(at) {
                Some(node) => vec![(node, refusal)],
                None => of_tensor(&too_much.tensor, &refusal),
            }
        }
        ImportError::GraphIo { tensor, reason, hint, .. } => {
            of_tensor(tensor, &Refusal { reason: format!("`{tensor}`: {reason}"), hint: hint.clone() })
        }
        _ => Vec::new(),
    }
}

fn of_error(error: &ImportError) -> Refusal {
    Refusal { reason: error.to_string(), hint: "the runtime computes it".to_owned() }
}

/// Returns the nodes whose results have another type than the file states, which the runtime would misread.
fn of_other_types(graph: &GraphOutline, partition: &Partition, part: &Graph) -> Refused {
    let mut refused = Refused::new();
    for (&tensor, &output) in partition.outputs.iter().zip(&part.outputs) {
        let (stated, element_type) = (&graph.tensors[tensor], part.tensors[output].element_type);
        let Some(stated_type) = stated.element_type.filter(|&stated_type| stated_type != element_type) else {
            continue;
        };
        let refusal = Refusal {
            reason: format!("its result `{}` would be {element_type} where {stated_type} is stated", stated.name),
            hint: "the runtime computes it".to_owned(),
        };
        let writers = partition.nodes.iter().filter(|&&node| graph.nodes[node].outputs.contains(&tensor));
        refused.extend(writers.map(|&node| (node, refusal.clone())));
    }
    refused
}
