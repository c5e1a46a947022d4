//! What is looked at in bodies of control flow: which names they read, and what they state of their results.

use std::collections::HashSet;

use super::{
    model::{GraphIo, IoType, Node, each},
    wire::{Broken, Message},
};

/// The names that nodes in a node's bodies read, also in bodies within those, and those that bodies give as results. Some
/// of them are the bodies' own.
pub(super) fn names_read(file: &Message<'_>, node: &Node) -> Result<HashSet<String>, Broken> {
    let mut names = HashSet::new();
    let bodies = node.attributes.iter().flat_map(|attribute| &attribute.bodies);
    // A list and no recursion: bodies may be nested as deep as a file likes.
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

/// What an `If` gives, as far as its bodies state the same of it.
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
