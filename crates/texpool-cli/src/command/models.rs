//! `texpool models list` and `texpool models fetch`.

use super::{error::CliError, lines, out, progress};
use crate::{
    fetch::{Bar, Catalog, Entry, Fetcher},
    report::grouped,
};
use clap::Subcommand;
use serde::Serialize;
use std::{fmt::Write, path::PathBuf};
use texpool_compile::option_text::nearest_name;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List every model, photo and list of labels that can be fetched.
    List,
    /// Fetch some of them, or all.
    Fetch {
        /// Names from the list, or `all`.
        #[arg(required = true)]
        names: Vec<String>,
    },
}

/// The document of both.
#[derive(Serialize)]
struct List<T> {
    files: Vec<T>,
}

#[derive(Serialize)]
struct ListedEntry<'a> {
    #[serde(flatten)]
    entry: &'a Entry,
    /// Path of the file, if it exists locally.
    at: Option<String>,
}

#[derive(Serialize)]
struct FetchedFile<'a> {
    name: &'a str,
    at: String,
    bytes: u64,
    sha256: &'a str,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    let bar = Bar::default();
    let fetcher = Fetcher::new(&bar)?;
    match &args.action {
        Action::List => list(&fetcher, json),
        Action::Fetch { names } => fetch(&fetcher, names, json),
    }
}

/// Converts a path to text for JSON: bytes that are not UTF-8 become replacement characters.
fn text_of(path: PathBuf) -> String {
    path.display().to_string()
}

fn list(fetcher: &Fetcher<'_>, json: bool) -> Result<(), CliError> {
    let at_hand = |entry| ListedEntry { entry, at: fetcher.find(entry).map(text_of) };
    let all: Vec<ListedEntry<'_>> =
        progress::during("looking for the files", || fetcher.catalog.files.iter().map(at_hand).collect());
    if json {
        return out::json(&List { files: all });
    }
    let mut text = String::new();
    for ListedEntry { entry, at } in &all {
        let at_hand = if at.is_some() { "at hand" } else { "" };
        let recipe_label = entry.made.as_ref().map(|recipe| {
            let seed = if fetcher.catalog.entry(&recipe.from).is_ok() { "" } else { "seed " };
            format!("written by models/make.py from {seed}{}", recipe.from)
        });
        let from = entry.sources.iter().map(|s| s.label()).chain(recipe_label).collect::<Vec<_>>().join(", ");
        let (name, kind, bytes) = (&entry.name, entry.kind.name(), entry.bytes);
        // Writing to a string cannot fail.
        let line = format!("{name:<30} {kind:<8} {:>11} bytes  {at_hand}", grouped(bytes));
        let _ = writeln!(text, "{}", line.trim_end());
        let _ = writeln!(text, "  {}\n  {}; {from}", entry.about, entry.licence);
    }
    out::text(&lines::fitted(&text))
}

fn no_such_name(catalog: &Catalog, name: &str) -> CliError {
    let near = nearest_name(name, catalog.files.iter().map(|entry| entry.name.as_str()));
    CliError::NoSuchName { name: name.into(), near: near.map(str::to_owned) }
}

fn fetch(fetcher: &Fetcher<'_>, names: &[String], json: bool) -> Result<(), CliError> {
    let mut entries: Vec<&Entry> = if names.iter().any(|name| name == "all") {
        fetcher.catalog.files.iter().collect()
    } else {
        let find = |name: &String| fetcher.catalog.entry(name).map_err(|_| no_such_name(&fetcher.catalog, name));
        names.iter().map(find).collect::<Result<_, _>>()?
    };
    // A model comes with the names of its classes.
    let labels =
        entries.iter().filter_map(|entry| entry.labels.as_ref()).map(|labels| fetcher.catalog.entry(&labels.entry));
    for labels in labels.collect::<Result<Vec<_>, _>>()? {
        if entries.iter().all(|entry| entry.name != labels.name) {
            entries.push(labels);
        }
    }
    let mut fetched = Vec::new();
    for Entry { name, bytes, sha256, .. } in entries {
        fetched.push(FetchedFile { name, at: text_of(fetcher.get(name)?), bytes: *bytes, sha256 });
    }
    if json {
        return out::json(&List { files: fetched });
    }
    out::text(&fetched.iter().map(|f| format!("{}: {}\n", f.name, f.at)).collect::<String>())
}
