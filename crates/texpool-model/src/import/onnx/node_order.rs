//! Sorts nodes so that each one follows those whose results it reads. ONNX asks for this order, but ONNX Runtime also runs
//! files in any other, and some exporters write those.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use super::{
    bodies::captured,
    model::{Graph, Model, Node},
    wire::{Message, Read},
};

/// Memory for each node while nodes are sorted, in bytes: the moved node, and its place in tables.
const SORTING_BYTES: usize = size_of::<Node>() + 128;

/// Parses a model, and sorts the nodes of its graph, bodies and functions.
pub(super) fn read(message: &Message<'_>) -> Read<Model> {
    let mut model = Model::read(message.clone())?;
    let functions = model.functions.iter_mut().map(|function| &mut function.body);
    for graph in model.graph.iter_mut().chain(functions) {
        sort(graph, message)?;
    }
    Ok(model)
}

/// Moves each node behind those whose results it reads. Other nodes keep their order. Nodes of a cycle, and those that
/// depend on them, come last.
fn sort(graph: &mut Graph, message: &Message<'_>) -> Read<()> {
    let nodes = &mut graph.nodes;
    for body in nodes.iter_mut().flat_map(|node| &mut node.attributes).flat_map(|attribute| &mut attribute.bodies) {
        body.graph.as_mut().map_or(Ok(()), |graph| sort(graph, message))?;
    }
    message.makes(nodes.len().saturating_mul(SORTING_BYTES))?;
    let Some(order) = order(nodes) else { return Ok(()) };
    let mut unsorted: Vec<Option<Node>> = nodes.drain(..).map(Some).collect();
    nodes.extend(order.into_iter().filter_map(|index| unsorted[index].take()));
    nodes.extend(unsorted.into_iter().flatten());
    Ok(())
}

/// Returns the indices of nodes in order, without those that depend on a cycle; `None` if the nodes are in order.
fn order(nodes: &[Node]) -> Option<Vec<usize>> {
    let mut producers = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        for name in node.outputs.iter().filter(|name| !name.is_empty()) {
            producers.entry(name.as_str()).or_insert(index);
        }
    }
    let mut readers = vec![Vec::new(); nodes.len()];
    let mut missing = vec![0_usize; nodes.len()];
    let mut is_sorted = true;
    for (index, node) in nodes.iter().enumerate() {
        let read = node.inputs.iter().map(String::as_str).chain(captured(node));
        for producer in read.filter_map(|name| producers.get(name).copied()) {
            is_sorted &= producer < index;
            readers[producer].push(index);
            missing[index] += 1;
        }
    }
    if is_sorted {
        return None;
    }
    let ready = (0..nodes.len()).filter(|&index| missing[index] == 0);
    let mut ready: BinaryHeap<Reverse<usize>> = ready.map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(index)) = ready.pop() {
        order.push(index);
        for &reader in &readers[index] {
            missing[reader] -= 1;
            if missing[reader] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    Some(order)
}
