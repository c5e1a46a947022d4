//! The library's errors, as declared in its source. New variants must not break a caller's match, and error texts
//! must not mention the command's flags or system packages.

use std::path::{Path, PathBuf};

use crate::support::sources;

/// The crate of the command, whose errors may mention its flags and system packages.
const COMMAND: &str = "texpool-cli";

/// Returns the sources of every crate but the command's.
fn library_sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = std::fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let libraries = crates.filter(|path| !path.ends_with(COMMAND)).map(|path| path.join("src"));
    [root.join("src")].into_iter().chain(libraries).flat_map(|folder| sources(&folder)).collect()
}

#[test]
fn every_public_error_may_grow() {
    let mut seen = 0;
    let command = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates").join(COMMAND).join("src");
    for (path, text) in library_sources().into_iter().chain(sources(&command)) {
        for (at, _) in text.match_indices("thiserror::Error)]") {
            let Some(end) = text[at..].find("pub ").map(|end| at + end) else { continue };
            let attributes = &text[at..end];
            // Skipped if the attribute belongs to another item, or if the type is private to the crate.
            if attributes.contains('{') || text[end..].starts_with("pub fn") {
                continue;
            }
            seen += 1;
            assert!(attributes.contains("#[non_exhaustive]"), "{}: {:?}", path.display(), text[end..].lines().next());
        }
    }
    assert!(seen > 15, "{seen} errors were found");
}

#[test]
fn texts_of_the_library_name_no_flag_and_no_package() {
    for (path, text) in library_sources() {
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let flag =
                line.match_indices("--").any(|(at, _)| line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase()));
            assert!(!flag && !line.contains("apt-get"), "{}:{}: {line}", path.display(), number + 1);
        }
    }
}
