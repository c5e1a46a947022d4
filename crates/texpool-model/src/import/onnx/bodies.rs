//! Examines bodies of control flow: the names that they read, and the types that they state for their results.

use std::collections::HashSet;

use super::{
    model::{Graph, GraphIo, IoType, Node, each},
    wire::{Broken, Message},
};

/// Returns the names that nodes in a node's bodies read, including nested bodies, and the names of the bodies'
/// results. Some of these names are local to the bodies.
pub(super) fn names_read(file: &Message<'_>, node: &Node) -> Result<HashSet<String>, Broken> {
    let mut names = HashSet::new();
    let bodies = node.attributes.iter().flat_map(|attribute| &attribute.bodies);
    // Iterative, because a file may nest bodies to any depth.
    let mut open: Vec<Message<'_>> = bodies.map(|body| file.at(body.range.clone())).collect();
    while let Some(body) = open.pop() {
        each(body, |m, number, value| {
            match number {
                1 => of_node(m.message(value)?, &mut names, &mut open)?,
                12 => each(m.message(value)?, |m, number, value| {
                    if number == 1 {
                        names.insert(m.text(value)?);
                    }
                    Ok(())
                })?,
                _ => {}
            }
            Ok(())
        })?;
    }
    Ok(names)
}

/// Returns the names that the branches of a node read from the graph that contains the node, each once.
pub(super) fn captured(node: &Node) -> HashSet<&str> {
    let bodies = node.attributes.iter().flat_map(|attribute| &attribute.bodies);
    bodies.filter_map(|body| body.graph.as_ref()).flat_map(captured_by).collect()
}

/// Returns the names that a branch reads, also through nested branches, but does not define. Branches have a limited
/// depth.
pub(super) fn captured_by(branch: &Graph) -> HashSet<&str> {
    let mut names: HashSet<&str> = branch.outputs.iter().map(|port| port.name.as_str()).collect();
    for node in &branch.nodes {
        names.extend(node.inputs.iter().filter(|name| !name.is_empty()).map(String::as_str));
        names.extend(captured(node));
    }
    let computed = branch.nodes.iter().flat_map(|node| &node.outputs);
    let stored = branch.initializers.iter().map(|tensor| &tensor.name).chain(&branch.sparse);
    let inputs = branch.inputs.iter().map(|port| &port.name);
    for name in computed.chain(stored).chain(inputs) {
        names.remove(name.as_str());
    }
    names
}

/// Returns the number of nodes of a body, with those of nested bodies. Bodies have a limited depth.
pub(super) fn size(body: &Graph) -> usize {
    let nested = body.nodes.iter().flat_map(|node| &node.attributes).flat_map(|attribute| &attribute.bodies);
    body.nodes.len() + nested.filter_map(|body| body.graph.as_ref()).map(size).sum::<usize>()
}

/// Returns the results of an `If`, with the types on which its bodies agree.
pub(super) fn results(file: &Message<'_>, node: &Node) -> Result<Vec<GraphIo>, Broken> {
    if !node.is_branch() {
        return Ok(Vec::new());
    }
    let mut stated: Option<Vec<IoType>> = None;
    for body in node.attributes.iter().flat_map(|attribute| &attribute.bodies) {
        let mut kinds = Vec::new();
        each(file.at(body.range.clone()), |m, number, value| {
            if number == 12 {
                kinds.push(GraphIo::read(m.message(value)?)?.kind);
            }
            Ok(())
        })?;
        let alike = |(one, other): (IoType, IoType)| if one == other { one } else { IoType::Unstated };
        stated = Some(match stated {
            None => kinds,
            Some(before) => before.into_iter().zip(kinds).map(alike).collect(),
        });
    }
    let results = node.outputs.iter().cloned().zip(stated.unwrap_or_default());
    Ok(results.map(|(name, kind)| GraphIo { name, kind }).collect())
}

fn of_node<'a>(node: Message<'a>, names: &mut HashSet<String>, open: &mut Vec<Message<'a>>) -> Result<(), Broken> {
    each(node, |m, number, value| {
        match number {
            1 => {
                m.makes(size_of::<String>())?;
                names.insert(m.text(value)?);
            }
            5 => each(m.message(value)?, |m, number, value| {
                if matches!(number, 6 | 11) {
                    m.makes(size_of::<Message<'_>>())?;
                    open.push(m.message(value)?);
                }
                Ok(())
            })?,
            _ => {}
        }
        Ok(())
    })
}
