//! The command lines of the documentation, as a reader pastes them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use texpool_cli::fetch::cache_folder;

/// Every line of a shell block that calls the command succeeds, in an empty folder for each document, which is the home
/// folder, too.
#[test]
fn every_documented_command_line_succeeds() {
    let mut lines_run = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for line in command_lines(&text) {
            let mut shell = Command::new("bash");
            shell.args(["-c", line]).current_dir(&folder).env("PATH", path()).env("HOME", folder.path());
            let output = shell.env("TEXPOOL_CACHE", cache_folder().unwrap()).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: `{line}` ends with {}: {stderr}", document.display(), output.status);
            lines_run += 1;
        }
    }
    assert!(lines_run > 15, "only {lines_run} command lines in all documents");
}

/// Returns the documents whose command lines are complete: the front page and the site.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(crate::ROOT);
    let mut documents = vec![root.join("README.md"), root.join("crates/texpool-cli/README.md")];
    for folder in ["docs", "docs/design", "docs/extend"] {
        let files = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        documents.extend(files.filter(|path| path.extension().is_some_and(|e| e == "md")));
    }
    documents.sort();
    documents
}

/// Returns the lines in shell blocks that call the command, or make folders for its output.
fn command_lines(text: &str) -> impl Iterator<Item = &str> {
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
    blocks.flat_map(str::lines).filter(|line| line.starts_with("texpool ") || line.starts_with("mkdir "))
}

/// Returns a search path that begins with the command's folder.
fn path() -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_texpool")).parent().unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}
