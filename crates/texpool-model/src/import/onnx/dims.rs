//! Binds extents that a file leaves open to numbers, and lists all unbound ones together.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    array::{MAX_RANK, ranked},
    model::{Extent, GraphIo, IoType},
};
use crate::import::{
    ExtentBound,
    error::{ImportError, Problem, UnresolvedDim},
};
use texpool_ops::graph::MAX_ELEMENTS;

/// Resolves the extents of inputs from the file and from the caller's options.
#[derive(Debug)]
pub(super) struct Binding<'o> {
    bound: &'o BTreeMap<String, usize>,
    /// Most that extents can be which a run gives.
    most: &'o BTreeMap<String, ExtentBound>,
    used: BTreeSet<&'o str>,
    unbound: Vec<UnresolvedDim>,
    pub(super) bounded: Vec<BoundedInputAxis<'o>>,
}

/// An axis of an input whose extent a run gives.
#[derive(Clone, Debug)]
pub(super) struct BoundedInputAxis<'o> {
    pub(super) input: String,
    pub(super) axis: usize,
    /// Name of the extent. Axes that have the same name have the same extent in each run.
    pub(super) name: &'o str,
    pub(super) bound: ExtentBound,
    /// Places that the axis has in addition to the extent.
    pub(super) more: usize,
}

/// The extent that an axis is bound to.
#[derive(Clone, Copy, Debug)]
struct Bound<'o> {
    /// The name by which it is bound, the one that runs may give if the extent is a sum with such a part.
    name: &'o str,
    /// The most that the extent can be.
    extent: usize,
    /// Places that the extent has in addition to the named one.
    more: usize,
}

impl<'o> Binding<'o> {
    pub(super) fn new(bound: &'o BTreeMap<String, usize>, most: &'o BTreeMap<String, ExtentBound>) -> Self {
        Self { bound, most, used: BTreeSet::new(), unbound: Vec::new(), bounded: Vec::new() }
    }

    /// Returns the extents of an input. Open ones count as 1 and are listed. Some may be bound to 0.
    pub(super) fn dims(&mut self, port: &GraphIo) -> Result<Vec<usize>, ImportError> {
        let extents = match &port.kind {
            IoType::Tensor(_, Some(extents)) => Cow::Borrowed(extents.as_slice()),
            _ => Cow::Owned(self.unranked(port)?),
        };
        ranked(extents.len()).map_err(|problem| problem.of_graph_io("input", &port.name))?;
        let mut dims = Vec::with_capacity(extents.len());
        for (axis, stated) in extents.iter().enumerate() {
            let by_place = place(port, axis);
            let (name, fixed) = match stated {
                Extent::Known(n) if *n > 0 => (by_place.clone(), usize::try_from(*n).ok()),
                // Inputs are never empty, so an extent that is not positive must mean that it is unknown, and has to
                // be bound.
                Extent::Known(_) | Extent::Unknown => (by_place.clone(), None),
                // Names that some exporters give to unknown extents.
                Extent::Named(name) if name.is_empty() || name == "?" => (by_place.clone(), None),
                Extent::Named(name) => (name.clone(), None),
            };
            // The position has priority over the name, because several axes may share a name.
            let cannot = |(name, extent): (&str, usize), why: String| {
                let why = format!("{why} axis {axis} of input `{}`", port.name);
                Err(ImportError::CannotBind { name: name.to_owned(), asked: extent, why })
            };
            let binding = match self.find(&by_place).or_else(|| self.find(&name)) {
                Some(binding) => Some(binding),
                None => match self.find_sum(&name) {
                    Ok(binding) => binding,
                    Err([first, second]) => {
                        let why =
                            format!("it is added to `{first}`, which runs give, too; bind one of them to a number for");
                        return cannot((second, self.most.get(second).map_or(0, |bound| bound.most)), why);
                    }
                },
            };
            let is_open = binding.is_some_and(|binding| self.most.contains_key(binding.name));
            let extent = match (fixed, binding) {
                (Some(fixed), Some(Bound { name, extent, .. })) if fixed != extent || is_open => {
                    return cannot((name, extent), format!("the file states {fixed} for"));
                }
                (None, Some(Bound { name, extent: 0, .. })) if is_open => {
                    return cannot(
                        (name, 0),
                        "inputs whose extent differs between runs have elements, and this is".to_owned(),
                    );
                }
                (None, Some(Bound { name, extent, .. })) if extent > MAX_ELEMENTS => {
                    return cannot((name, extent), format!("an extent is at most {MAX_ELEMENTS}, and this is"));
                }
                (fixed, binding) => fixed.or(binding.map(|binding| binding.extent)),
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
            if let Some(Bound { name, more, .. }) = binding
                && let Some(&bound) = self.most.get(name)
            {
                self.bounded.push(BoundedInputAxis { input: port.name.clone(), axis, name, bound, more });
            }
            dims.push(extent);
        }
        Ok(dims)
    }

    /// Returns whether `dims` contradict no extent of an input that the file or the caller states.
    pub(super) fn agrees(&self, port: &GraphIo, dims: &[usize]) -> bool {
        let IoType::Tensor(_, Some(extents)) = &port.kind else { return true };
        let agrees = |(axis, (stated, &extent)): (usize, (&Extent, &usize))| {
            // A constant cannot have an extent that differs between runs.
            let bound = |name: &str| match self.bound.get(name) {
                Some(&bound) => bound == extent,
                None => !self.most.contains_key(name),
            };
            bound(&place(port, axis))
                && match stated {
                    Extent::Known(known) => *known <= 0 || usize::try_from(*known) == Ok(extent),
                    Extent::Named(name) => bound(name),
                    Extent::Unknown => true,
                }
        };
        extents.len() == dims.len() && extents.iter().zip(dims).enumerate().all(agrees)
    }

    /// Returns open extents for an input of unknown rank. The rank follows from the positions that are bound.
    fn unranked(&self, port: &GraphIo) -> Result<Vec<Extent>, ImportError> {
        let is_bound = |name: &String| self.bound.contains_key(name) || self.most.contains_key(name);
        let axes = (0..=MAX_RANK).take_while(|&axis| is_bound(&place(port, axis))).count();
        if axes == 0 {
            return Err(ImportError::UnstatedShape { input: port.name.clone() });
        }
        Ok(vec![Extent::Unknown; axes])
    }

    fn find(&mut self, name: &str) -> Option<Bound<'o>> {
        let most = || self.most.get_key_value(name).map(|(name, bound)| (name, &bound.most));
        let (name, &extent) = self.bound.get_key_value(name).or_else(most)?;
        self.used.insert(name);
        Some(Bound { name, extent, more: 0 })
    }

    /// Returns the extent of a name that is a sum of bound ones and numbers. `None` if not all of them are bound. Fails with
    /// the names of two parts that runs may give, because no single number of a run decides their sum.
    fn find_sum(&mut self, name: &str) -> Result<Option<Bound<'o>>, [&'o str; 2]> {
        let Some(terms) = terms(name) else { return Ok(None) };
        let mut numbers = 0usize;
        let mut names = Vec::new();
        for term in terms {
            let part = match term {
                Term::Number(number) => Some(number),
                Term::Name(term) => match self.find(term) {
                    Some(part) => {
                        names.push(part);
                        Some(0)
                    }
                    None => None,
                },
            };
            let Some(sum) = part.and_then(|part| numbers.checked_add(part)) else { return Ok(None) };
            numbers = sum;
        }
        let sum = names.iter().try_fold(numbers, |sum, part| sum.checked_add(part.extent));
        let open: Vec<&Bound<'o>> = names.iter().filter(|part| self.most.contains_key(part.name)).collect();
        Ok(match (&open[..], sum) {
            ([first, second, ..], _) => return Err([first.name, second.name]),
            (_, None) => None,
            (&[&Bound { name, extent, .. }], Some(sum)) => Some(Bound { name, extent: sum, more: sum - extent }),
            ([], Some(sum)) => names.first().map(|first| Bound { name: first.name, extent: sum, more: 0 }),
        })
    }

    /// Fails if an extent is unbound, or if a bound name is neither that of an open extent nor, with a bound, that of a value.
    /// Returns the bounds of values.
    pub(super) fn finish(self, is_value: impl Fn(&str) -> bool) -> Result<Vec<(&'o str, ExtentBound)>, ImportError> {
        if !self.unbound.is_empty() {
            // A sum follows once the extents that it adds are bound.
            let names: BTreeSet<&str> = self.unbound.iter().map(|dim| dim.name.as_str()).collect();
            let follows = |name: &str| {
                let is_open = |term| matches!(term, Term::Name(name) if names.contains(name));
                let is_bound = |term| match term {
                    Term::Name(name) => {
                        names.contains(name) || self.bound.contains_key(name) || self.most.contains_key(name)
                    }
                    Term::Number(_) => true,
                };
                terms(name).is_some_and(|all| all.iter().copied().any(is_open) && all.iter().copied().all(is_bound))
            };
            let open = self.unbound.iter().filter(|dim| !follows(&dim.name)).cloned().collect();
            return Err(ImportError::UnresolvedDim(open));
        }
        let of_values = self.most.iter().filter(|(name, _)| !self.used.contains(name.as_str()) && is_value(name));
        let of_values: Vec<_> = of_values.map(|(name, &bound)| (name.as_str(), bound)).collect();
        let is_used = |name: &str| self.used.contains(name) || of_values.iter().any(|(other, _)| *other == name);
        let names = self.bound.keys().chain(self.most.keys());
        let unused: Vec<String> = names.filter(|name| !is_used(name)).cloned().collect();
        if unused.is_empty() { Ok(of_values) } else { Err(ImportError::NoSuchDim { names: unused }) }
    }
}

/// A part of a sum.
#[derive(Clone, Copy, Debug)]
enum Term<'n> {
    Number(usize),
    Name(&'n str),
}

/// A name that exporters of decoders give to a sum, and its parts.
const TOTAL: (&str, [Term<'static>; 2]) =
    ("total_sequence_length", [Term::Name("past_sequence_length"), Term::Name("sequence_length")]);

/// Returns the terms of a name that exporters write for a sum, such as `past_sequence_length + 1`.
fn terms(name: &str) -> Option<Vec<Term<'_>>> {
    if name == TOTAL.0 {
        return Some(TOTAL.1.to_vec());
    }
    let terms = name.split('+').map(str::trim);
    let terms = terms.map(|term| term.parse().map_or(Term::Name(term), Term::Number)).collect::<Vec<_>>();
    let is_whole = terms.iter().all(|term| !matches!(term, Term::Name("")));
    (terms.len() > 1 && is_whole).then_some(terms)
}

/// Name of an axis of an input that has no name in the file.
fn place(port: &GraphIo, axis: usize) -> String {
    format!("{}:{axis}", port.name)
}
