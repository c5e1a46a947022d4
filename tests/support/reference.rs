//! ONNX models and what the reference runtime made of a photo, from the folder of reference data beside the repository.
//! A clone without that folder has none: the models come in no package.

use std::path::{Path, PathBuf};

use super::arrays::array;

/// A photo through an ONNX model.
pub(crate) struct Reference {
    pub(crate) model: PathBuf,
    /// In the file's order.
    pub(crate) input: Vec<f32>,
    pub(crate) output: Vec<f32>,
    /// Ten times the difference of two CPU runtimes, or 1e-5 of the largest value where that is more.
    pub(crate) tolerance: f32,
}

/// The reference of that name, if there is the folder.
pub(crate) fn reference(name: &str) -> Option<Reference> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = shared.join("goldens").join(name);
    if !folder.exists() {
        println!("no reference data beside the repository: {name} is not compared");
        return None;
    }
    let manifest = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let (output, facts) = manifest["outputs"].as_object().unwrap().iter().next().unwrap();
    let fact = |key: &str| facts[key].as_f64().unwrap() as f32;
    Some(Reference {
        model: shared.join("models").join(manifest["model_file"].as_str().unwrap()),
        input: array(&folder.join("input.npy")),
        output: array(&folder.join(format!("out_{output}.npy"))),
        tolerance: (10.0 * fact("unoptimised_vs_optimised_max_abs_diff")).max(1e-5 * fact("max_abs")),
    })
}
