//! Extents that a model leaves open: an open batch is 1, and the user is shown a command line that binds the others.

use crate::io::{printable, shell_argument, shell_word};
use std::{collections::BTreeMap, path::Path};
use texpool_model::import::{ImportError, ImportOptions, UnresolvedDim};

/// Values that exporters and publishers usually give to extents, by parts of their names.
const USUAL: [(&str, usize); 5] = [("batch", 1), ("seq", 128), ("length", 128), ("height", 224), ("width", 224)];

/// Returns the options with every open batch bound to 1, and the note that says so. Returns `None` if something else is
/// open, or the error is another one.
pub(super) fn with_batch_of_one(error: &ImportError, options: &ImportOptions) -> Option<(ImportOptions, String)> {
    let ImportError::UnresolvedDim(open) = error else { return None };
    if !open.iter().all(is_batch) {
        return None;
    }
    let names = names(open);
    let mut options = options.clone();
    options.dims.extend(names.iter().map(|name| ((*name).to_owned(), 1)));
    let listed = names.iter().map(|name| format!("`{}`", printable(name))).collect::<Vec<_>>().join(", ");
    let flags = names.iter().map(|name| format!("--dim {}", shell_word(Path::new(&format!("{name}=N")))));
    let flags = flags.collect::<Vec<_>>().join(" ");
    let note = match names.len() {
        1 => format!("note: the model's batch {listed} is open and taken as 1; {flags} sets another"),
        _ => format!("note: the model's batches {listed} are open and taken as 1; {flags} sets others"),
    };
    Some((options, note))
}

/// Returns the command line of this call with `--dim` for each open extent. `known` are the values of a catalogue's entry.
pub(super) fn line(open: &[UnresolvedDim], known_dims: &BTreeMap<String, usize>) -> String {
    let arguments = std::env::args_os().skip(1).map(|argument| shell_argument(&argument));
    let value = |name: &str| {
        let lower = name.to_lowercase();
        let usual = || USUAL.iter().find(|(part, _)| lower.contains(part)).map(|&(_, value)| value);
        let batch = || open.iter().filter(|dim| dim.name == name).all(is_batch).then_some(1);
        known_dims.get(name).copied().or_else(usual).or_else(batch)
    };
    let dims = names(open).into_iter().map(|name| {
        let value = value(name).map_or("VALUE".to_owned(), |value| value.to_string());
        format!("--dim {}", shell_word(Path::new(&format!("{name}={value}"))))
    });
    std::iter::once("texpool".to_owned()).chain(arguments).chain(dims).collect::<Vec<_>>().join(" ")
}

fn is_batch(dim: &UnresolvedDim) -> bool {
    dim.axis == 0 && !dim.zero
}

/// Returns the names that bind the extents, each once.
fn names(open: &[UnresolvedDim]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for dim in open {
        if !names.contains(&dim.name.as_str()) {
            names.push(&dim.name);
        }
    }
    names
}
