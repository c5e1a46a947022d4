//! The library's errors, as declared in its source. New variants must not break a caller's match, and error texts
//! must not mention the command's flags or system packages.

use crate::support::{source_folders, sources};

#[test]
fn every_public_error_may_grow() {
    let mut seen = 0;
    for (path, text) in source_folders().iter().flat_map(|folder| sources(folder)) {
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
    // The command's errors may mention its flags and system packages.
    let libraries = source_folders().into_iter().filter(|folder| !folder.ends_with("texpool-cli/src"));
    for (path, text) in libraries.flat_map(|folder| sources(&folder)) {
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let flag =
                line.match_indices("--").any(|(at, _)| line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase()));
            assert!(!flag && !line.contains("apt-get"), "{}:{}: {line}", path.display(), number + 1);
        }
    }
}
