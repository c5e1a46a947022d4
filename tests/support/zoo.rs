//! The catalogue's networks and the outputs of other runtimes for them (`tests/data/zoo/README.md`).

#![cfg(test)]

use std::{
    collections::BTreeMap,
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use serde_json::Value;
use texpool_model::import::{FakeQuant, ImportError, ImportOptions, open_with};
use texpool_ops::graph::{Graph, TensorId};

use super::{arrays::array, models::model};

/// One output of the reference runtime.
pub(crate) struct Answer {
    pub(crate) name: String,
    pub(crate) elements: usize,
    /// Step between the elements that are stored.
    pub(crate) every: usize,
    pub(crate) kept: Vec<f32>,
    /// Ten times the difference of two CPU runs, or 1e-5 of the largest value where that is more; for 8-bit networks
    /// three times that difference.
    pub(crate) tolerance: f32,
}

/// A network with its inputs and expected outputs.
pub(crate) struct Case {
    pub(crate) name: String,
    file: String,
    /// Values of symbolic dimensions.
    dims: BTreeMap<String, usize>,
    inputs: Vec<(String, Vec<f32>)>,
    pub(crate) answers: Vec<Answer>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/zoo")
}

/// The names of all networks.
pub(crate) fn names() -> Vec<String> {
    manifest().as_object().unwrap().keys().cloned().collect()
}

/// Reads the manifest, which has an entry for each network, by name.
pub(crate) fn manifest() -> Value {
    serde_json::from_reader(BufReader::new(File::open(folder().join("manifest.json")).unwrap())).unwrap()
}

/// Its model file.
pub(crate) fn file(name: &str) -> String {
    manifest()[name]["file"].as_str().unwrap().into()
}

/// The network of that name.
pub(crate) fn case(name: &str) -> Case {
    let entry = manifest()[name].take();
    let mut all = array::<f32>(&folder().join(format!("{name}.npy"))).into_iter();
    let answers = entry["outputs"].as_array().unwrap().iter().map(|output| {
        let fact = |key: &str| output[key].as_f64().unwrap() as f32;
        let elements = numbers(&output["dims"]).iter().map(|&d| d as usize).product::<usize>();
        let every = output["every"].as_u64().unwrap() as usize;
        Answer {
            name: output["name"].as_str().unwrap().into(),
            elements,
            every,
            kept: all.by_ref().take(elements.div_ceil(every)).collect(),
            tolerance: match &output["quantum"] {
                Value::Null => (10.0 * fact("two_runtimes")).max(1e-5 * fact("max_abs")),
                _ => 3.0 * fact("two_runtimes"),
            },
        }
    });
    Case {
        answers: answers.collect(),
        name: name.into(),
        file: file(name),
        dims: entry["dims"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(k, v)| (k.clone(), v.as_u64().unwrap() as usize))
            .collect(),
        inputs: entry["inputs"].as_object().unwrap().iter().map(|(k, v)| (k.clone(), input(v))).collect(),
    }
}

impl Case {
    /// The network, with its open extents bound, in the arithmetic of the kernels whose results are kept.
    pub(crate) fn graph(&self) -> Result<Graph, ImportError> {
        let fake_quant = FakeQuant::Reference;
        let options = ImportOptions { dims: self.dims.clone(), fake_quant, ..ImportOptions::default() };
        open_with(model(&self.file), &options)
    }

    /// Returns the values of the graph's inputs, in the graph's order.
    pub(crate) fn inputs(&self, graph: &Graph) -> Vec<&[f32]> {
        let of = |&tensor: &TensorId| {
            let name = &graph.tensors[tensor].name;
            let input = self.inputs.iter().find(|(key, _)| key.is_empty() || key == name);
            input.unwrap_or_else(|| panic!("{}: nothing for the input {name}", self.name)).1.as_slice()
        };
        graph.inputs.iter().map(of).collect()
    }

    /// Returns each output's name and its largest error in units of the tolerance; a NaN is infinitely far off.
    pub(crate) fn distances(&self, graph: &Graph, outputs: &[Vec<f32>]) -> Vec<(String, f32)> {
        let distance = |answer: &Answer| {
            let named = |&tensor: &TensorId| graph.tensors[tensor].name == answer.name;
            let at =
                graph.outputs.iter().position(named).unwrap_or_else(|| panic!("{}: no {}", self.name, answer.name));
            assert_eq!(outputs[at].len(), answer.elements, "{}: {}", self.name, answer.name);
            let apart = outputs[at].iter().step_by(answer.every).zip(&answer.kept).map(|(a, b)| (a - b).abs());
            let worst = apart.fold(0.0, |worst: f32, d| if d <= worst { worst } else { d });
            (answer.name.clone(), if worst.is_nan() { f32::INFINITY } else { worst / answer.tolerance })
        };
        self.answers.iter().map(distance).collect()
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().map_or_else(Vec::new, |all| all.iter().map(|v| v.as_f64().unwrap()).collect())
}

/// Makes the values of an input: given numbers, or parts of a picture converted to numbers.
fn input(facts: &Value) -> Vec<f32> {
    if let Some(rows) = facts["values"].as_array() {
        return rows.iter().flat_map(numbers).map(|v| v as f32).collect();
    }
    let picture = model(&format!("{}.png", facts["picture"].as_str().unwrap()));
    let picture = image::open(&picture).unwrap().to_rgb8();
    let crops = match facts["crops"].as_array() {
        Some(crops) => crops.iter().map(numbers).collect(),
        None => vec![numbers(&facts["crop"])],
    };
    let number = |key: &str, channel: usize, or: f64| numbers(&facts[key]).get(channel).copied().unwrap_or(or) as f32;
    let divide = facts["divide"].as_f64().unwrap() as f32;
    let planar = facts["order"] == "NCHW";
    let mut values = Vec::new();
    for crop in crops {
        let [left, top, width, height] = <[f64; 4]>::try_from(crop).unwrap().map(|v| v as u32);
        let part = image::imageops::crop_imm(&picture, left, top, width, height).to_image();
        let value = |x: u32, y: u32, c: usize| {
            (f32::from(part.get_pixel(x, y)[c]) / divide - number("subtract", c, 0.0)) / number("deviate", c, 1.0)
        };
        let pixels = || (0..height).flat_map(move |y| (0..width).map(move |x| (x, y)));
        if planar {
            values.extend((0..3).flat_map(|c| pixels().map(move |(x, y)| (x, y, c))).map(|(x, y, c)| value(x, y, c)));
        } else {
            values.extend(pixels().flat_map(|(x, y)| (0..3).map(move |c| (x, y, c))).map(|(x, y, c)| value(x, y, c)));
        }
    }
    values
}
