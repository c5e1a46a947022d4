//! Functions shared by the tests without a device.

use std::{
    fs,
    path::{Path, PathBuf},
};

use texpool_ops::graph::TensorId;

#[path = "../support/arrays.rs"]
pub(crate) mod arrays;
#[path = "../support/bounded.rs"]
pub(crate) mod bounded;
#[path = "../support/goldens.rs"]
pub(crate) mod goldens;
#[path = "../support/graphs.rs"]
pub(crate) mod graphs;
#[path = "../support/inputs.rs"]
pub(crate) mod inputs;
#[path = "../support/lines.rs"]
pub(crate) mod lines;
#[path = "../support/models.rs"]
pub(crate) mod models;
#[path = "../support/onnx.rs"]
pub(crate) mod onnx;
#[path = "../support/texture_layouts.rs"]
pub(crate) mod texture_layouts;
#[path = "../support/tflite.rs"]
pub(crate) mod tflite;
#[path = "../support/zoo.rs"]
pub(crate) mod zoo;

/// Returns the tensor with a number.
pub(crate) const fn t(number: usize) -> TensorId {
    TensorId::new(number)
}

/// Returns the source folder of every crate, the library's own first.
pub(crate) fn source_folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    [root.join("src")].into_iter().chain(crates).collect()
}

/// Returns every source file under a folder, with its text.
pub(crate) fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            texts.push((path, text));
        }
    }
    texts
}
