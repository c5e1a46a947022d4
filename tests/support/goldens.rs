//! Goldens: a photo and the outputs of the reference runtime for it (`tests/data/goldens/README.md`).

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use texpool_ops::graph::Graph;

pub(crate) use super::arrays::array;

/// One output of the reference runtime.
pub(crate) struct ExpectedOutput {
    pub(crate) name: String,
    /// `None` if only a part of the output is stored.
    pub(crate) values: Option<Vec<f32>>,
    /// Ten times the difference of two CPU runtimes, or 1e-5 of the largest value where that is more.
    pub(crate) tolerance: f32,
}

/// A photo, a model, and the model's outputs for the photo.
pub(crate) struct Golden {
    pub(crate) folder: PathBuf,
    pub(crate) model: String,
    pub(crate) input: Vec<f32>,
    pub(crate) outputs: Vec<ExpectedOutput>,
}

/// Returns the golden with this name.
pub(crate) fn golden(name: &str) -> Golden {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/goldens");
    let manifest: serde_json::Value =
        serde_json::from_reader(BufReader::new(File::open(root.join("manifest.json")).unwrap())).unwrap();
    let entry = &manifest["goldens"][name];
    let folder = root.join(name);
    let bytes: Vec<u8> = array(&folder.join("input_u8.npy"));
    let scale: fn(u8) -> f32 = match entry["preprocessing"].as_str().unwrap() {
        "float32(u8)/127.5 - 1.0, NHWC, RGB" => |v| f32::from(v) / 127.5 - 1.0,
        "float32(u8)/255.0, NHWC, RGB" => |v| f32::from(v) / 255.0,
        other => panic!("{name}: unknown preprocessing {other}"),
    };
    let outputs = entry["outputs"].as_object().unwrap().iter().map(|(tensor, facts)| {
        let fact = |key: &str| facts[key].as_f64().unwrap() as f32;
        let file = folder.join(format!("out_{}.npy", tensor.replace('/', "_")));
        ExpectedOutput {
            name: tensor.clone(),
            values: file.exists().then(|| array(&file)),
            tolerance: (10.0 * fact("ref_vs_xnnpack_max_abs_diff")).max(1e-5 * fact("max_abs")),
        }
    });
    Golden {
        model: entry["model_file"].as_str().unwrap().to_owned(),
        input: bytes.into_iter().map(scale).collect(),
        outputs: outputs.collect(),
        folder,
    }
}

/// Returns the position of the tensor with this name among the graph's outputs.
pub(crate) fn output(graph: &Graph, name: &str) -> usize {
    graph.outputs.iter().position(|&t| graph.tensors[t].name == name).unwrap_or_else(|| panic!("no output {name}"))
}
