//! Types and extents that a file states for its values (`value_info`, inputs and outputs). Extents are numbers, or
//! names that were bound.

use std::collections::{BTreeMap, HashMap};

use super::{
    element_type::element_type,
    model::{Extent, Graph, GraphIo, IoType, each},
    names::Names,
    wire::{Broken, Message},
};
use crate::import::{error::Problem, label::label};
use texpool_ops::graph::ElementType;
use texpool_plan::printable;

/// Returns the statements for values that are neither inputs nor outputs.
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

/// Maximum number of outputs that are named in warnings. Chosen: a file may have any number of outputs.
const MAX_WARNED: usize = 8;

/// Warns if the file states other extents than its operators compute. Names up to `MAX_WARNED` outputs, or else the
/// first intermediate value. The computed extents are used, but the author of the file may have meant another
/// operator.
pub(super) fn warn_of_others(file: &Graph, model: Message<'_>, names: &Names<'_>) {
    let other = |port: &GraphIo| -> Option<String> {
        let IoType::Tensor(_, Some(stated)) = &port.kind else { return None };
        let computed = names.facts(&port.name)?.dims;
        let is_other = |(stated, &computed): (&Extent, &usize)| match stated {
            // Names are not compared, because exporters reuse a name for different extents. Numbers below 1 mean
            // unknown.
            Extent::Known(n @ 1..) => usize::try_from(*n) != Ok(computed),
            Extent::Known(_) | Extent::Unknown | Extent::Named(_) => false,
        };
        let differs = stated.len() != computed.len() || stated.iter().zip(computed).any(is_other);
        differs.then(|| {
            let stated = stated.iter().map(|extent| match extent {
                Extent::Known(n) => n.to_string(),
                Extent::Named(name) => name.clone(),
                Extent::Unknown => "?".to_owned(),
            });
            let stated = stated.collect::<Vec<_>>().join(", ");
            let text = format!("`{}` has the extents {computed:?}, the file states [{stated}]", port.name);
            printable(&label(&text)).to_string()
        })
    };
    let outputs: Vec<String> = file.outputs.iter().filter_map(other).collect();
    for output in outputs.iter().take(MAX_WARNED) {
        tracing::warn!("output {output}; it is computed with those of its operators");
    }
    if let Some(more @ 1..) = outputs.len().checked_sub(MAX_WARNED) {
        tracing::warn!("{more} more outputs have other extents than the file states");
    }
    // If outputs differ, intermediate values usually do, too, so those are not reported.
    if outputs.is_empty()
        && let Ok(between) = between(model)
    {
        let mut others = between.iter().filter_map(other);
        if let Some(first) = others.next() {
            let more = others.count();
            tracing::warn!(more, "value {first}; it is computed with those of its operators");
        }
    }
}

/// The types and extents that a file states, by name.
#[derive(Debug)]
pub(super) struct Stated<'m>(HashMap<&'m str, &'m IoType>);

impl<'m> Stated<'m> {
    pub(super) fn new(file: &'m Graph, between: &'m [GraphIo]) -> Self {
        let ports = between.iter().chain(&file.outputs).chain(&file.inputs);
        Self(ports.map(|port| (port.name.as_str(), &port.kind)).collect())
    }

    /// Returns the element type of a value. `None` if the file states none.
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

    /// Returns the extents of a value, with named ones resolved as bound. `None` if not even the rank is stated.
    pub(super) fn dims(&self, name: &str, bound: &BTreeMap<String, usize>) -> Option<Vec<Option<usize>>> {
        let IoType::Tensor(_, Some(extents)) = self.0.get(name)? else { return None };
        let resolved = |(axis, extent): (usize, &Extent)| {
            let by_place = || bound.get(&format!("{name}:{axis}"));
            match extent {
                Extent::Known(n @ 1..) => usize::try_from(*n).ok(),
                // Numbers below 1 mean an unknown extent.
                Extent::Known(_) | Extent::Unknown => by_place().copied(),
                Extent::Named(by) => by_place().or_else(|| bound.get(by)).copied(),
            }
        };
        Some(extents.iter().enumerate().map(resolved).collect())
    }
}
