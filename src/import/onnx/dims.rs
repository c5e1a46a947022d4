//! Extents that a file leaves open, bound to numbers; those that are not bound are listed all at once.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    array::{MAX_RANK, ranked},
    model::{Extent, GraphIo, IoType},
};
use crate::{
    graph::MAX_ELEMENTS,
    import::error::{ImportError, Problem, UnresolvedDim},
};

/// Extents of the inputs, by what `--dim` and the file say.
#[derive(Debug)]
pub(super) struct Binding<'o> {
    bound: &'o BTreeMap<String, usize>,
    used: BTreeSet<&'o str>,
    unbound: Vec<UnresolvedDim>,
}

impl<'o> Binding<'o> {
    pub(super) fn new(bound: &'o BTreeMap<String, usize>) -> Self {
        Self { bound, used: BTreeSet::new(), unbound: Vec::new() }
    }

    /// The extents of an input; those left open count as 1 and are listed.
    pub(super) fn dims(&mut self, port: &GraphIo) -> Result<Vec<usize>, ImportError> {
        let extents = match &port.kind {
            IoType::Tensor(_, Some(extents)) => Cow::Borrowed(extents.as_slice()),
            _ => Cow::Owned(self.unranked(port)?),
        };
        ranked(extents.len()).map_err(|problem| problem.of_graph_io("input", &port.name))?;
        let mut dims = Vec::with_capacity(extents.len());
        for (axis, stated) in extents.iter().enumerate() {
            let by_place = place(port, axis);
            let (name, known) = match stated {
                Extent::Known(n) if *n > 0 => (by_place.clone(), usize::try_from(*n).ok()),
                // No input is empty, so what is not above zero has to be bound, and may stand for what is not known.
                Extent::Known(_) | Extent::Unknown => (by_place.clone(), None),
                // Some exporters call what they do not know so.
                Extent::Named(name) if name.is_empty() || name == "?" => (by_place.clone(), None),
                Extent::Named(name) => (name.clone(), None),
            };
            // The place first: several axes may share a name, a place is one alone.
            let asked = self.find(&by_place).or_else(|| self.find(&name));
            let cannot = |(name, asked): (&str, usize), why: String| {
                let why = format!("{why} axis {axis} of input `{}`", port.name);
                Err(ImportError::CannotBind { name: name.to_owned(), asked, why })
            };
            let extent = match (known, asked) {
                (Some(known), Some(asked)) if known != asked.1 => {
                    return cannot(asked, format!("the file states {known} for"));
                }
                (None, Some(asked)) if asked.1 == 0 => {
                    return cannot(asked, "tensors without elements are not supported, and this is".to_owned());
                }
                (None, Some(asked)) if asked.1 > MAX_ELEMENTS => {
                    return cannot(asked, format!("an extent is at most {MAX_ELEMENTS}, and this is"));
                }
                (known, asked) => known.or(asked.map(|(_, extent)| extent)),
            };
            let extent = extent.unwrap_or_else(|| {
                let zero = matches!(stated, Extent::Known(0));
                self.unbound.push(UnresolvedDim { input: port.name.clone(), axis, name, zero });
                1
            });
            if extent > MAX_ELEMENTS {
                let reason = format!("axis {axis} has the extent {extent}: at most {MAX_ELEMENTS} are supported");
                return Err(Problem::limit(reason).of_graph_io("input", &port.name));
            }
            dims.push(extent);
        }
        Ok(dims)
    }

    /// Open extents, as many as are bound by their places, for an input of which not even their number is stated.
    fn unranked(&self, port: &GraphIo) -> Result<Vec<Extent>, ImportError> {
        let axes = (0..=MAX_RANK).take_while(|&axis| self.bound.contains_key(&place(port, axis))).count();
        if axes == 0 {
            return Err(ImportError::UnstatedShape { input: port.name.clone() });
        }
        Ok(vec![Extent::Unknown; axes])
    }

    fn find(&mut self, name: &str) -> Option<(&'o str, usize)> {
        let (name, &extent) = self.bound.get_key_value(name)?;
        self.used.insert(name);
        Some((name, extent))
    }

    /// Refuses the model if an extent is open, or a name was bound that no input has.
    pub(super) fn finish(self) -> Result<(), ImportError> {
        if !self.unbound.is_empty() {
            return Err(ImportError::UnresolvedDim(self.unbound));
        }
        let unused: Vec<String> = self.bound.keys().filter(|k| !self.used.contains(k.as_str())).cloned().collect();
        if unused.is_empty() { Ok(()) } else { Err(ImportError::NoSuchDim { names: unused }) }
    }
}

/// What an axis of an input is called where it has no name.
fn place(port: &GraphIo, axis: usize) -> String {
    format!("{}:{axis}", port.name)
}
