//! Extents that are not known before a run: what they are tried with, and what a run says they are.

use std::collections::BTreeMap;

use crate::graph::{Extent, Graph, Part};

/// Heights and widths of images that are tried where nobody says, the usual one first: 224 can be halved five times; readers
/// of text have lines of 48 or 32 rows.
pub(crate) const IMAGES: [usize; 3] = [224, 48, 32];
/// What other axes are tried with: of a text, tokens.
const LENGTH: usize = 16;

/// What an open extent of an axis is tried with where nobody says.
fn usual(axis: usize, rank: usize, image: usize) -> usize {
    match (axis, rank) {
        (0, _) => 1,
        (2.., 4) => image,
        _ => LENGTH,
    }
}

/// What each name of an extent stands for: as the user says, else by the first input of the graph that has it.
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

/// The open extents of the graph's inputs that nobody has said, as the option `dim` is written, with what they are tried
/// with.
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
            // Where inputs share a name, the first says what it is.
            if !guessed.iter().any(|(known, _)| known == name) {
                guessed.push((name.clone(), text));
            }
        }
    }
    guessed.into_iter().map(|(_, text)| text).collect()
}

/// The open extents of what goes into a part, by the names that the importer gives them, or the name of the first input of
/// which nothing can be said.
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
                // What a node in the middle gives may depend on values; only what the caller gives can be tried.
                Extent::Unknown => {
                    said.or_else(|| graph.inputs.contains(&input).then(|| usual(axis, dims.len(), image)))
                }
            };
            bound.insert(place, extent.ok_or(input)?);
        }
    }
    Ok(bound)
}

/// What the importer calls the extent of an axis.
pub(crate) fn place(input: &str, axis: usize) -> String {
    format!("{input}:{axis}")
}
