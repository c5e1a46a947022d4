//! The tests that `tests/README.md` names for what is promised.

use std::{collections::BTreeSet, fs, path::Path};

const README: &str = include_str!("../README.md");

/// The identifiers in all sources below a folder.
fn identifiers(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            identifiers(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.extend(text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned));
        }
    }
}

/// Each of them is there: a promise whose test was renamed would look kept when nobody tests it.
#[test]
fn the_tests_that_are_named_are_there() {
    let quoted = README.split('`').skip(1).step_by(2);
    for binary in ["plan", "library", "gpu", "cli"] {
        let mut found = BTreeSet::new();
        identifiers(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(binary), &mut found);
        let named: Vec<&str> =
            quoted.clone().filter_map(|name| name.strip_prefix(binary)?.strip_prefix("::")).collect();
        assert!(!named.is_empty(), "{binary}");
        for name in named {
            let missing = name.split("::").find(|&part| !found.contains(part));
            assert_eq!(missing, None, "{binary}::{name}");
        }
    }
}
