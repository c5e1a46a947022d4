//! Runs whose inputs have less than their greatest extents: they compute the places that they need, with the bits of a
//! network for these extents, whatever other places hold.

use std::sync::Arc;

use texpool_compile::{CompileOptions, Objective};
use texpool_gpu::{Executor, ExecutorOptions, SharedPipelines};
use texpool_model::import::{ExtentBound, ImportOptions, from_bytes_with};
use texpool_ops::graph::{Graph, InputValues};

use super::support::{
    onnx_model::{Model, bytes, number},
    open,
};

/// Attributes of a list and of an integer.
pub(super) fn list(name: &str, values: &[i64]) -> Vec<u8> {
    let each: Vec<u8> = values.iter().flat_map(|&value| number(8, value)).collect();
    bytes(5, &[bytes(1, name.as_bytes()), each, number(20, 7)].concat())
}

pub(super) fn integer(name: &str, value: i64) -> Vec<u8> {
    bytes(5, &[bytes(1, name.as_bytes()), number(3, value), number(20, 2)].concat())
}

pub(super) fn floats(m: &mut Model, name: &str, dims: &[i64]) {
    let len = dims.iter().product::<i64>();
    let values: Vec<u8> = (0..len).flat_map(|i| ((i * 29 % 17) as f32 / 16.0 - 0.5).to_le_bytes()).collect();
    m.tensor(name, 1, dims, &bytes(9, &values));
}

fn integers(m: &mut Model, name: &str, values: &[i64]) {
    let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    m.tensor(name, 7, &[(values.len() / 8) as i64], &bytes(9, &values));
}

/// A network with a feature pyramid, gates over the whole image, and a transposed convolution at its end.
fn pyramid() -> Vec<u8> {
    let mut m = Model::new();
    m.raw_input("x", 1, &[number(1, 1), number(1, 3), bytes(2, b"h"), bytes(2, b"w")]);
    for (name, dims) in [
        ("first", [8, 3, 3, 3]),
        ("depthwise", [8, 1, 3, 3]),
        ("pointwise", [8, 8, 1, 1]),
        ("squeeze", [4, 8, 1, 1]),
        ("excite", [8, 4, 1, 1]),
        ("down", [8, 8, 3, 3]),
        ("head", [16, 4, 2, 2]),
    ] {
        floats(&mut m, name, &dims);
    }
    let (around, halves) = (list("pads", &[1; 4]), list("strides", &[2, 2]));
    m.raw_node("Conv", &["x", "first"], &["a"], &[around.clone(), halves.clone()]);
    m.raw_node("Relu", &["a"], &["b"], &[]);
    m.raw_node("Conv", &["b", "depthwise"], &["c"], &[around.clone(), integer("group", 8)]);
    m.raw_node("Conv", &["c", "pointwise"], &["d"], &[]);
    m.raw_node("GlobalAveragePool", &["d"], &["mean"], &[]);
    m.raw_node("Conv", &["mean", "squeeze"], &["s"], &[]);
    m.raw_node("Conv", &["s", "excite"], &["e"], &[]);
    m.raw_node("Sigmoid", &["e"], &["gate"], &[]);
    m.raw_node("Mul", &["d", "gate"], &["f"], &[]);
    m.raw_node("Add", &["f", "b"], &["g"], &[]);
    m.raw_node("Conv", &["g", "down"], &["h"], &[around, halves.clone()]);
    m.raw_node("MaxPool", &["g"], &["p"], &[list("kernel_shape", &[2, 2]), halves.clone()]);
    m.raw_node("Add", &["h", "p"], &["q"], &[]);
    m.raw_node("Shape", &["g"], &["size"], &[]);
    m.raw_node("Resize", &["q", "", "", "size"], &["r"], &[]);
    m.raw_node("Concat", &["r", "g"], &["joined"], &[integer("axis", 1)]);
    m.raw_node("ConvTranspose", &["joined", "head"], &["t"], &[halves]);
    m.raw_node("Softmax", &["t"], &["y"], &[integer("axis", 1)]);
    ["y", "q"].into_iter().for_each(|name| m.output(name));
    m.bytes()
}

/// A layer of a text encoder: attention in two heads, and a dense layer.
fn encoder() -> Vec<u8> {
    let mut m = Model::new();
    m.raw_input("x", 1, &[number(1, 1), bytes(2, b"h"), number(1, 16)]);
    for (name, dims) in [("q", [16, 16]), ("k", [16, 16]), ("v", [16, 16]), ("out", [16, 16]), ("wide", [16, 16])] {
        floats(&mut m, name, &dims);
    }
    integers(&mut m, "heads", &[0, 0, 2, 8]);
    integers(&mut m, "joined", &[0, 0, 16]);
    for name in ["q", "k", "v"] {
        let [product, split, moved] = ["product", "split", "moved"].map(|step| format!("{name} {step}"));
        m.raw_node("MatMul", &["x", name], &[&product], &[]);
        m.raw_node("Reshape", &[&product, "heads"], &[&split], &[]);
        let perm = if name == "k" { [0, 2, 3, 1] } else { [0, 2, 1, 3] };
        m.raw_node("Transpose", &[&split], &[&moved], &[list("perm", &perm)]);
    }
    m.raw_node("MatMul", &["q moved", "k moved"], &["scores"], &[]);
    m.raw_node("Softmax", &["scores"], &["shares"], &[]);
    m.raw_node("MatMul", &["shares", "v moved"], &["mixed"], &[]);
    m.raw_node("Transpose", &["mixed"], &["back"], &[list("perm", &[0, 2, 1, 3])]);
    m.raw_node("Reshape", &["back", "joined"], &["flat"], &[]);
    m.raw_node("MatMul", &["flat", "out"], &["o"], &[]);
    m.raw_node("Add", &["o", "x"], &["sum"], &[]);
    m.raw_node("MatMul", &["sum", "wide"], &["dense"], &[]);
    m.raw_node("Relu", &["dense"], &["y"], &[]);
    integers(&mut m, "one", &[1]);
    m.raw_node("ReduceMax", &["y", "one"], &["most"], &[]);
    ["y", "most"].into_iter().for_each(|name| m.output(name));
    m.bytes()
}

/// A classifier of pictures, whose dense layers read all of a picture.
fn classifier() -> Vec<u8> {
    let mut m = Model::new();
    m.raw_input("x", 1, &[bytes(2, b"n"), number(1, 3), number(1, 6), number(1, 6)]);
    for (name, dims) in [("first", &[8, 3, 3, 3][..]), ("dense", &[128, 16]), ("last", &[16, 10])] {
        floats(&mut m, name, dims);
    }
    m.raw_node("Conv", &["x", "first"], &["a"], &[]);
    m.raw_node("Flatten", &["a"], &["flat"], &[]);
    m.raw_node("Gemm", &["flat", "dense"], &["b"], &[]);
    m.raw_node("Relu", &["b"], &["c"], &[]);
    m.raw_node("MatMul", &["c", "last"], &["d"], &[]);
    m.raw_node("Softmax", &["d"], &["y"], &[]);
    ["y", "a"].into_iter().for_each(|name| m.output(name));
    m.bytes()
}

fn graph(file: &[u8], options: &ImportOptions) -> Graph {
    from_bytes_with(Arc::new(file.to_vec()), options).unwrap()
}

/// Runs one executor on inputs of several extents, and compares each run with an executor for these extents.
fn agrees(file: &[u8], bounds: &[(&str, ExtentBound)], shape: impl Fn(&[usize]) -> Vec<usize>, runs: &[&[usize]]) {
    let gpu = open();
    let pipelines = SharedPipelines::default();
    let bound = bounds.iter().map(|&(name, bound)| (name.to_owned(), bound)).collect();
    let bounded = graph(file, &ImportOptions { bounds: bound, ..ImportOptions::default() });
    for objective in [Objective::Fastest, Objective::Smallest] {
        // Weights are those of one graph.
        let executor = |graph: &Graph| {
            let compile = CompileOptions { objective, ..CompileOptions::default() };
            let pipelines = pipelines.clone();
            let options = ExecutorOptions { compile, poison: true, pipelines, ..ExecutorOptions::default() };
            Executor::new(&gpu, graph, &options).unwrap()
        };
        let mut open_executor = executor(&bounded);
        for extents in runs {
            let dims = shape(extents);
            let values: Vec<f32> =
                (0..dims.iter().product()).map(|i: usize| (i * 37 % 101) as f32 / 50.0 - 1.0).collect();
            let given = [InputValues::new(&values, &dims)];
            let fixed = bounds.iter().zip(*extents).map(|((name, _), &extent)| ((*name).to_owned(), extent)).collect();
            let exact = graph(file, &ImportOptions { dims: fixed, ..ImportOptions::default() });
            let mut exact_executor = executor(&exact);
            let room = |graph: &Graph| -> Vec<Vec<f32>> {
                graph.caller_outputs().iter().map(|&output| vec![0.0; graph.shape(output).len()]).collect()
            };
            let (mut found, mut expected) = (room(&bounded), room(&exact));
            let found_dims = open_executor.run_into(&given, &mut found).unwrap();
            let expected_dims = exact_executor.run_into(&given, &mut expected).unwrap();
            assert_eq!(found_dims, expected_dims, "{objective:?}, {extents:?}");
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found.len(), expected.len());
                for (i, (a, b)) in found.iter().zip(expected).enumerate() {
                    let is_near = (a - b).abs() <= 1e-5 * b.abs().max(1.0);
                    assert!(is_near, "{objective:?}, {extents:?}, value {i}: {a} instead of {b}");
                }
            }
            let warnings = open_executor.warnings().unwrap();
            assert!(warnings.not_finite.is_empty(), "{extents:?}: {warnings:?}");
        }
    }
}

#[test]
fn images_below_the_bound_have_the_results_of_their_size() {
    let bounds = [("h", ExtentBound { most: 48, step: 4 }), ("w", ExtentBound { most: 64, step: 4 })];
    let shape = |extents: &[usize]| vec![1, 3, extents[0], extents[1]];
    let runs: [&[usize]; 6] = [&[48, 64], &[4, 4], &[20, 64], &[48, 12], &[36, 44], &[20, 64]];
    agrees(&pyramid(), &bounds, shape, &runs);
}

#[test]
fn batches_below_the_bound_have_the_results_of_their_pictures() {
    let shape = |extents: &[usize]| vec![extents[0], 3, 6, 6];
    agrees(&classifier(), &[("n", 7.into())], shape, &[&[7], &[1], &[5], &[2], &[7]]);
}

#[test]
fn texts_below_the_bound_have_the_results_of_their_length() {
    let shape = |extents: &[usize]| vec![1, extents[0], 16];
    agrees(&encoder(), &[("h", 40.into())], shape, &[&[40], &[1], &[13], &[39], &[2]]);
}
