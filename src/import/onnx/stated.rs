//! What a file states of its values (`value_info`, inputs and outputs): types and extents, as far as they are numbers or
//! names that somebody bound.

use std::collections::{BTreeMap, HashMap};

use super::{
    element_type::element_type,
    model::{Extent, Graph, GraphIo, IoType, each},
    wire::{Broken, Message},
};
use crate::{graph::ElementType, import::error::Problem};

/// What a model states of values that are neither inputs nor outputs.
pub(super) fn between(model: Message<'_>) -> Result<Vec<GraphIo>, Broken> {
    let mut values = Vec::new();
    each(model, |m, number, value| {
        if number == 7 {
            each(m.message(value)?, |m, number, value| {
                if number == 13 {
                    values.push(GraphIo::read(m.message(value)?)?);
                }
                Ok(())
            })?;
        }
        Ok(())
    })?;
    Ok(values)
}

/// All that a file states, by name.
#[derive(Debug)]
pub(super) struct Stated<'m>(HashMap<&'m str, &'m IoType>);

impl<'m> Stated<'m> {
    pub(super) fn new(file: &'m Graph, between: &'m [GraphIo]) -> Self {
        let ports = between.iter().chain(&file.outputs).chain(&file.inputs);
        Self(ports.map(|port| (port.name.as_str(), &port.kind)).collect())
    }

    /// The type of a value's elements; nothing where none is stated.
    pub(super) fn element_type(&self, name: &str) -> Option<Result<ElementType, Problem>> {
        match self.0.get(name)? {
            IoType::Unstated => None,
            IoType::Tensor(0, _) => None,
            IoType::Tensor(kind, _) => Some(element_type(*kind)),
            IoType::Other(what) => {
                Some(Err(Problem::new(format!("it is a {what}"), "export the model with plain tensors")))
            }
        }
    }

    /// A value's extents, those by name as they are bound; nothing where not even their number is stated.
    pub(super) fn dims(&self, name: &str, bound: &BTreeMap<String, usize>) -> Option<Vec<Option<usize>>> {
        let IoType::Tensor(_, Some(extents)) = self.0.get(name)? else { return None };
        let known = |(axis, extent): (usize, &Extent)| {
            let by_place = || bound.get(&format!("{name}:{axis}"));
            match extent {
                Extent::Known(n @ 1..) => usize::try_from(*n).ok(),
                // What is not above zero stands for an extent that is not known.
                Extent::Known(_) | Extent::Unknown => by_place().copied(),
                Extent::Named(by) => by_place().or_else(|| bound.get(by)).copied(),
            }
        };
        Some(extents.iter().enumerate().map(known).collect())
    }
}
