//! Extents that are unknown before a run, and the names that bind them for a run.

use std::collections::BTreeMap;

use crate::graph::{Extent, Graph, Part};

/// Returns the unknown extents of the graph's inputs that the user has given, by the importer's names.
pub(crate) fn bound(graph: &Graph<'_>, sizes: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let mut bound = BTreeMap::new();
    for &input in &graph.inputs {
        let value = &graph.values[input];
        for (axis, extent) in value.dims.iter().flatten().enumerate().filter(|(_, extent)| extent.known().is_none()) {
            if let Some(extent) = stated(extent, &value.name, axis, sizes) {
                bound.insert(place(&value.name, axis), extent);
            }
        }
    }
    bound
}

/// Returns the extent of an input's axis, if it is known before a run or given by the user.
pub(crate) fn stated(extent: &Extent, input: &str, axis: usize, sizes: &BTreeMap<String, usize>) -> Option<usize> {
    let size_of = |name: &str| sizes.get(name).copied();
    match extent {
        Extent::Known(extent) => Some(*extent),
        Extent::Named(name) => size_of(&place(input, axis)).or_else(|| size_of(name)),
        Extent::Unknown => size_of(&place(input, axis)),
    }
}

/// Returns true if no extent of a part's inputs is guessed.
pub(crate) fn all_stated(graph: &Graph<'_>, part: &Part, sizes: &BTreeMap<String, usize>) -> bool {
    part.inputs.iter().map(|&input| &graph.values[input]).all(|value| {
        let stated = |(axis, extent): (usize, &Extent)| stated(extent, &value.name, axis, sizes).is_some();
        value.dims.as_ref().is_some_and(|dims| dims.iter().enumerate().all(stated))
    })
}

/// Returns the importer's name for the extent of an axis.
pub(crate) fn place(input: &str, axis: usize) -> String {
    format!("{input}:{axis}")
}
