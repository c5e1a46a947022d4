//! Extents that are unknown before a run: guesses used when nodes are selected, and the names that bind them for a
//! run.

use std::collections::BTreeMap;

use crate::graph::{Extent, Graph, Part};

/// Heights and widths of images to try if the user gives none, the most common first: 224 can be halved five times,
/// and models that read text have lines of 48 or 32 rows.
pub(crate) const IMAGES: [usize; 3] = [224, 48, 32];
/// Extent to try for other axes, such as the number of tokens in a text.
const LENGTH: usize = 16;

/// Returns the extent to try for an unknown axis if the user gives none.
fn usual(axis: usize, rank: usize, image: usize) -> usize {
    match (axis, rank) {
        (0, _) => 1,
        (2.., 4) => image,
        _ => LENGTH,
    }
}

/// Returns the extent for each name: the one given by the user, otherwise a guess for the first input with that name.
pub(crate) fn named(graph: &Graph<'_>, said: &BTreeMap<String, usize>, image: usize) -> BTreeMap<String, usize> {
    let mut names = said.clone();
    for &input in &graph.inputs {
        let dims = graph.values[input].dims.as_deref().unwrap_or_default();
        for (axis, extent) in dims.iter().enumerate() {
            if let Extent::Named(name) = extent {
                names.entry(name.clone()).or_insert_with(|| usual(axis, dims.len(), image));
            }
        }
    }
    names
}

/// Returns the unknown extents of the graph's inputs that the user has not given, with the guesses for them, in the
/// syntax of the option `dim`.
pub(crate) fn guessed(graph: &Graph<'_>, said: &BTreeMap<String, usize>, image: usize) -> Vec<String> {
    let mut guessed = Vec::new();
    for &input in &graph.inputs {
        let value = &graph.values[input];
        let dims = value.dims.as_deref().unwrap_or_default();
        for (axis, extent) in dims.iter().enumerate() {
            let place = place(&value.name, axis);
            let name = match extent {
                Extent::Known(_) => continue,
                _ if said.contains_key(&place) => continue,
                Extent::Named(name) if said.contains_key(name) => continue,
                Extent::Named(name) => name,
                Extent::Unknown => &place,
            };
            let text = format!("{name}={}", usual(axis, dims.len(), image));
            // If inputs share a name, the guess for the first one counts.
            if !guessed.iter().any(|(known, _)| known == name) {
                guessed.push((name.clone(), text));
            }
        }
    }
    guessed.into_iter().map(|(_, text)| text).collect()
}

/// Returns the unknown extents of a part's inputs, keyed by the importer's names. Fails with the first input for
/// which no guess is possible.
pub(crate) fn tried(
    graph: &Graph<'_>,
    part: &Part,
    names: &BTreeMap<String, usize>,
    image: usize,
) -> Result<BTreeMap<String, usize>, usize> {
    let mut bound = BTreeMap::new();
    for &input in &part.inputs {
        let value = &graph.values[input];
        let Some(dims) = &value.dims else { return Err(input) };
        for (axis, extent) in dims.iter().enumerate() {
            let place = place(&value.name, axis);
            let said = names.get(&place).copied();
            let extent = match extent {
                Extent::Known(0) => return Err(input),
                Extent::Known(_) => continue,
                Extent::Named(name) => said.or_else(|| names.get(name).copied()),
                // Only inputs of the graph can be guessed. The extents of an intermediate value may depend on its
                // operands' values.
                Extent::Unknown => {
                    said.or_else(|| graph.inputs.contains(&input).then(|| usual(axis, dims.len(), image)))
                }
            };
            bound.insert(place, extent.ok_or(input)?);
        }
    }
    Ok(bound)
}

/// Returns the extent of an input's axis, if it is known before a run or given by the user.
pub(crate) fn stated(extent: &Extent, input: &str, axis: usize, said: &BTreeMap<String, usize>) -> Option<usize> {
    let said_of = |name: &str| said.get(name).copied();
    match extent {
        Extent::Known(extent) => Some(*extent),
        Extent::Named(name) => said_of(&place(input, axis)).or_else(|| said_of(name)),
        Extent::Unknown => said_of(&place(input, axis)),
    }
}

/// Returns true if no extent of a part's inputs is guessed.
pub(crate) fn all_stated(graph: &Graph<'_>, part: &Part, said: &BTreeMap<String, usize>) -> bool {
    part.inputs.iter().map(|&input| &graph.values[input]).all(|value| {
        let stated = |(axis, extent): (usize, &Extent)| stated(extent, &value.name, axis, said).is_some();
        value.dims.as_ref().is_some_and(|dims| dims.iter().enumerate().all(stated))
    })
}

/// Returns the importer's name for the extent of an axis.
pub(crate) fn place(input: &str, axis: usize) -> String {
    format!("{input}:{axis}")
}
