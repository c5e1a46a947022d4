//! Extents that a file leaves open, bound to numbers; those that are not bound are listed all at once.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    array::ranked,
    model::{Extent, GraphIo, IoType},
};
use crate::{
    graph::MAX_ELEMENTS,
    import::error::{ImportError, UnresolvedDim},
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
        let damaged = |what: String| ImportError::Malformed { what };
        let IoType::Tensor(_, Some(extents)) = &port.kind else {
            return Err(damaged(format!("input `{}` states no extents", port.name)));
        };
        if let Err(problem) = ranked(extents.len()) {
            return Err(damaged(format!("input `{}`: {}", port.name, problem.reason)));
        }
        let mut dims = Vec::with_capacity(extents.len());
        for (axis, extent) in extents.iter().enumerate() {
            let by_place = format!("{}:{axis}", port.name);
            let (name, known) = match extent {
                Extent::Known(n) if *n > 0 => (by_place.clone(), usize::try_from(*n).ok()),
                // No input is empty, so what is not above zero stands for an extent that is not known.
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
                (None, Some(asked)) if !(1..=MAX_ELEMENTS).contains(&asked.1) => {
                    return cannot(asked, format!("an extent is from 1 to {MAX_ELEMENTS}, and this is"));
                }
                (known, asked) => known.or(asked.map(|(_, extent)| extent)),
            };
            let extent = extent.unwrap_or_else(|| {
                self.unbound.push(UnresolvedDim { input: port.name.clone(), axis, name });
                1
            });
            if extent == 0 || extent > MAX_ELEMENTS {
                return Err(damaged(format!("axis {axis} of input `{}` is {extent}", port.name)));
            }
            dims.push(extent);
        }
        Ok(dims)
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
