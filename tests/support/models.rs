//! Real model files for tests: from the reference folder beside the repository.

use std::path::PathBuf;

/// Where reference data lies beside a checkout.
pub(crate) fn shared(path: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared").join(path);
    assert!(path.exists(), "{} is missing: the test needs the reference folder beside the repository", path.display());
    path
}

/// A real model file by its name in the reference folder.
pub(crate) fn model(name: &str) -> PathBuf {
    shared("models").join(name)
}
