//! Examines bodies of control flow: the names that they read, and the types that they state for their results.

use std::collections::HashSet;

use super::{
    model::{GraphIo, IoType, Node, each},
    wire::{Broken, Message},
};

/// Returns the names that nodes in a node's bodies read, including nested bodies, and the names of the bodies'
/// results. Some of these names are local to the bodies.
pub(super) fn names_read(file: &Message<'_>, node: &Node) -> Result<HashSet<String>, Broken> {
    let mut names = HashSet::new();
    let bodies = node.attributes.iter().flat_map(|attribute| &attribute.bodies);
    // Iterative, because a file may nest bodies to any depth.
    let mut open: Vec<Message<'_>> = bodies.map(|range| file.at(range.clone())).collect();
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

/// Returns the results of an `If`, with the types on which its bodies agree.
pub(super) fn results(file: &Message<'_>, node: &Node) -> Result<Vec<GraphIo>, Broken> {
    if node.op != "If" || !node.domain.is_empty() {
        return Ok(Vec::new());
    }
    let mut stated: Option<Vec<IoType>> = None;
    for range in node.attributes.iter().flat_map(|attribute| &attribute.bodies) {
        let mut kinds = Vec::new();
        each(file.at(range.clone()), |m, number, value| {
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
