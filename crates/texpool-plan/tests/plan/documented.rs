//! Checks that an example in the documentation uses every public name of the planner. The doc tests run these
//! examples.

use std::{collections::BTreeSet, fs, path::Path};

/// A source file of the planner: its path and its text.
type Source = (String, String);

fn sources(folder: &Path, list: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, list);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            list.push((path.to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap()));
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Returns the text of a documentation line without its comment marker.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
}

/// Collects all words of all examples.
fn words_of_examples(sources: &[Source]) -> BTreeSet<&str> {
    let mut examples = BTreeSet::new();
    for (_, text) in sources {
        let mut inside = false;
        for line in text.lines().filter_map(documentation) {
            if line.trim().starts_with("```") {
                inside = !inside;
            } else if inside {
                examples.extend(words(line));
            }
        }
    }
    examples
}

/// Returns the words up to the end of a statement.
fn statement(text: &str) -> impl Iterator<Item = &str> {
    words(text.split(';').next().unwrap_or_default())
}

/// Collects the public names that are hidden from the documentation: those that are marked, and those that a marked
/// module exports.
fn hidden(sources: &[Source]) -> BTreeSet<&str> {
    let marked = sources.iter().flat_map(|(_, text)| text.split("#[doc(hidden)]\n").skip(1));
    let marked: BTreeSet<&str> = marked.flat_map(statement).collect();
    let modules =
        sources.iter().filter(|(path, _)| marked.iter().any(|name| path.ends_with(&format!("/{name}/mod.rs"))));
    let exported = modules.flat_map(|(_, text)| text.split("\npub use ").skip(1)).flat_map(statement);
    exported.chain(marked.iter().copied()).collect()
}

/// Returns the name that a line declares as public, and whether it is a free function.
fn public_name(line: &str) -> Option<(&str, bool)> {
    let declared = line.trim_start().strip_prefix("pub ")?;
    let kinds = ["const fn ", "fn ", "struct ", "enum ", "type ", "const "];
    let kind = kinds.into_iter().find(|kind| declared.starts_with(kind))?;
    Some((words(&declared[kind.len()..]).next()?, kind == "fn " && line.starts_with("pub")))
}

#[test]
fn every_public_name_is_in_an_example() {
    let mut all = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
    let (examples, hidden) = (words_of_examples(&all), hidden(&all));
    let mut missing = Vec::new();
    let mut names = 0;
    for (path, text) in &all {
        if hidden.iter().any(|folder| path.contains(&format!("/{folder}/"))) {
            continue;
        }
        let mut own = String::new();
        for line in text.lines() {
            if let Some(line) = documentation(line) {
                own += line;
            } else if let Some((name, is_function)) = public_name(line).filter(|(name, _)| !hidden.contains(name)) {
                names += 1;
                if !examples.contains(name) {
                    missing.push(format!("{path}: {name} is in no example"));
                } else if is_function && !own.contains("```") && !own.contains("has an example") {
                    missing.push(format!("{path}: {name} has no example, and does not say where one is"));
                }
                own.clear();
            } else if !line.trim_start().starts_with("#[") {
                own.clear();
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(names > 100, "{names}");
}
