//! Which names the bodies of control flow read: no more is known of what is in them.

use std::collections::HashSet;

use super::{
    model::{Node, each},
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
