//! `texpool cache list` and `texpool cache clear`.

use super::{error::CliError, out, progress};
use crate::{
    fetch::{Bar, Fetcher, Stored, StoredKind},
    io::printable,
    report::{grouped, size},
};
use clap::Subcommand;
use serde::Serialize;
use std::{collections::BTreeMap, fmt::Write};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List texpool's files in the cache folder, with sizes and totals.
    List,
    /// Remove texpool's files of some kinds from the cache folder; others' files stay.
    ///
    /// A file that has the name of a model but other contents stays, too, and so does everything that texpool did not
    /// write. What is removed is fetched, searched for or packed again when it is needed.
    #[command(override_usage = "texpool cache clear <--all|--plans|--weights|--models|--profiles>")]
    Clear(Clear),
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct Clear {
    /// Plans that took a search.
    #[arg(long)]
    plans: bool,
    /// Packed weights that are streamed.
    #[arg(long)]
    weights: bool,
    /// Fetched models, photos and names of classes.
    #[arg(long)]
    models: bool,
    /// Measurements of devices.
    #[arg(long)]
    profiles: bool,
    /// All of these.
    #[arg(long, conflicts_with_all = ["plans", "weights", "models", "profiles"])]
    all: bool,
}

impl Clear {
    /// Returns true if files of the kind are to be removed.
    fn takes(&self, kind: StoredKind) -> bool {
        let of_kind = match kind {
            StoredKind::Plan => self.plans,
            StoredKind::Weights => self.weights,
            StoredKind::Profile => self.profiles,
            StoredKind::Model | StoredKind::Picture | StoredKind::Labels | StoredKind::Package => self.models,
        };
        self.all || of_kind
    }
}

/// A file as printed.
#[derive(Serialize)]
struct Row {
    kind: StoredKind,
    name: String,
    file: String,
    bytes: u64,
}

/// Number and size of the files of a kind.
#[derive(Default, Serialize)]
struct Total {
    files: usize,
    bytes: u64,
}

#[derive(Serialize)]
struct CacheListing {
    folder: String,
    files: Vec<Row>,
    totals: BTreeMap<StoredKind, Total>,
    total_bytes: u64,
}

#[derive(Serialize)]
struct ClearReport {
    folder: String,
    removed: Vec<Row>,
    removed_bytes: u64,
    /// Files that were left: of a catalogue file's name and size, but of other contents.
    left: Vec<Row>,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    let bar = Bar::default();
    let fetcher = Fetcher::new(&bar)?;
    match &args.action {
        Action::List => list(&fetcher, json),
        Action::Clear(which) => clear(&fetcher, which, json),
    }
}

fn list(fetcher: &Fetcher<'_>, json: bool) -> Result<(), CliError> {
    let files: Vec<Row> = fetcher.stored().iter().map(row).collect();
    let mut totals: BTreeMap<StoredKind, Total> = BTreeMap::new();
    for file in &files {
        let total = totals.entry(file.kind).or_default();
        total.files += 1;
        total.bytes += file.bytes;
    }
    let folder = fetcher.folder.display().to_string();
    let listed = CacheListing { folder, total_bytes: sum(&files), totals, files };
    if json { out::json(&listed) } else { out::text(&listed_text(&listed)) }
}

fn listed_text(listed: &CacheListing) -> String {
    let mut text = format!("{}\n\n", printable(&listed.folder));
    for Row { kind, name, bytes, .. } in &listed.files {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:<8} {:>13}  {}", kind.name(), grouped(*bytes), printable(name));
    }
    if !listed.files.is_empty() {
        text.push('\n');
    }
    for (kind, Total { files, bytes }) in &listed.totals {
        let _ = writeln!(text, "  {:<8} {:>13}  bytes in {files} {}", kind.name(), grouped(*bytes), files_word(*files));
    }
    let (files, bytes) = (listed.files.len(), listed.total_bytes);
    let _ = writeln!(
        text,
        "  {:<8} {:>13}  bytes in {files} {} ({})",
        "all",
        grouped(bytes),
        files_word(files),
        size(bytes)
    );
    text
}

fn clear(fetcher: &Fetcher<'_>, which: &Clear, json: bool) -> Result<(), CliError> {
    let (mut removed, mut left) = (Vec::new(), Vec::new());
    progress::during("checking what the files are", || -> Result<(), CliError> {
        for stored in fetcher.stored().iter().filter(|stored| which.takes(stored.kind)) {
            let to = if fetcher.remove(stored)? { &mut removed } else { &mut left };
            to.push(row(stored));
        }
        Ok(())
    })?;
    let folder = fetcher.folder.display().to_string();
    let cleared = ClearReport { folder, removed_bytes: sum(&removed), removed, left };
    if json {
        return out::json(&cleared);
    }
    let (files, bytes) = (cleared.removed.len(), cleared.removed_bytes);
    let mut text = format!("removed {files} {}, {} bytes\n", files_word(files), grouped(bytes));
    for Row { file, .. } in &cleared.left {
        let _ = writeln!(text, "left {}: it is not what texpool fetches", printable(file));
    }
    out::text(&text)
}

fn row(stored: &Stored) -> Row {
    let Stored { kind, name, path, bytes } = stored;
    Row { kind: *kind, name: name.clone(), file: path.display().to_string(), bytes: *bytes }
}

fn sum(rows: &[Row]) -> u64 {
    rows.iter().map(|row| row.bytes).sum()
}

fn files_word(count: usize) -> &'static str {
    if count == 1 { "file" } else { "files" }
}
