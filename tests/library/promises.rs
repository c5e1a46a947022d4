//! Checks that the tests named in `tests/README.md` exist.

use std::{collections::BTreeSet, path::Path};

use crate::support::sources;

const README: &str = include_str!("../README.md");

/// Every named test must exist. Otherwise a promise would look covered after its test was renamed.
#[test]
fn the_tests_that_are_named_are_there() {
    let quoted = README.split('`').skip(1).step_by(2);
    for binary in ["plan", "dataflow", "library", "gpu", "cli"] {
        let of = match binary {
            "plan" => "crates/texpool-plan/tests",
            "dataflow" => "crates/texpool-dataflow/tests",
            "cli" => "crates/texpool-cli/tests",
            _ => "tests",
        };
        let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(of).join(binary));
        let words = sources.iter().flat_map(|(_, text)| text.split(|c: char| !c.is_alphanumeric() && c != '_'));
        let source_words: BTreeSet<&str> = words.collect();
        let named: Vec<&str> =
            quoted.clone().filter_map(|name| name.strip_prefix(binary)?.strip_prefix("::")).collect();
        assert!(!named.is_empty(), "{binary}");
        for name in named {
            let missing = name.split("::").find(|&part| !source_words.contains(part));
            assert_eq!(missing, None, "{binary}::{name}");
        }
    }
}
