//! The errors of the library, as its source declares them: a caller's match outlives new ones, and their texts know neither
//! the command's flags nor packages of a system.

use std::path::PathBuf;

use crate::support::sources;

/// Folders that belong to the command only. They may name its flags, and run other programs with theirs.
const OF_THE_COMMAND: [&str; 3] = ["cli", "fetch", "setup"];

fn all() -> Vec<(PathBuf, String)> {
    sources(concat!(env!("CARGO_MANIFEST_DIR"), "/src").as_ref())
}

#[test]
fn every_public_error_may_grow() {
    let mut seen = 0;
    for (path, text) in all() {
        for (at, _) in text.match_indices("thiserror::Error)]") {
            let Some(end) = text[at..].find("pub ").map(|end| at + end) else { continue };
            let attributes = &text[at..end];
            // The word is another item's, or the type is the crate's own.
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
    for (path, text) in all() {
        let within = path.strip_prefix(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap();
        if OF_THE_COMMAND.iter().any(|folder| within.starts_with(folder)) {
            continue;
        }
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let flag =
                line.match_indices("--").any(|(at, _)| line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase()));
            assert!(!flag && !line.contains("apt-get"), "{}:{}: {line}", path.display(), number + 1);
        }
    }
}
