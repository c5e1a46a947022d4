//! The CPU references on real photos through real models, compared with every tensor that the reference runtime
//! exposed, intermediate ones included.

#![cfg(test)]

use crate::support::{
    goldens::{Golden, array, golden, output},
    models,
};
use texpool_ops::{
    graph::{Graph, IdVec, TensorId},
    ops::reference,
};

type Values = IdVec<TensorId, Option<Vec<f32>>>;

fn run(name: &str) -> (Golden, Graph, Values) {
    let golden = golden(name);
    let graph = texpool_model::import::open(models::model(&golden.model)).unwrap();
    let values = reference::graph(&graph, std::slice::from_ref(&golden.input)).unwrap();
    (golden, graph, values)
}

/// The largest difference is at most `tolerance`; a NaN never is.
fn near(what: &str, actual: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(actual.len(), expected.len(), "{what}");
    for (i, (a, b)) in actual.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance, "{what}: element {i} is {a}, not {b}; {tolerance:e} allowed");
    }
}

fn outputs_agree(name: &str) -> (Golden, Graph, Values) {
    let (golden, graph, values) = run(name);
    for expected in &golden.outputs {
        let Some(whole) = &expected.values else { continue };
        let actual = values[graph.outputs[output(&graph, &expected.name)]].as_ref().unwrap();
        near(&format!("{name} {}", expected.name), actual, whole, expected.tolerance);
    }
    (golden, graph, values)
}

#[test]
fn blazeface_agrees_from_the_first_operator_to_the_last() {
    let (golden, graph, values) = outputs_agree("blazeface_short_range");
    let mut seen = 0;
    for entry in std::fs::read_dir(&golden.folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        let Some(number) = file.strip_prefix("mid_op").and_then(|rest| rest.get(..3)) else { continue };
        let op_index: usize = number.parse().unwrap();
        let node = graph.nodes.iter().find(|node| node.op_index == op_index).unwrap();
        let expected: Vec<f32> = array(&path);
        let largest = expected.iter().fold(0.0f32, |most, v| most.max(v.abs()));
        near(&file, values[node.output].as_ref().unwrap(), &expected, 1e-5 * largest);
        seen += 1;
    }
    assert!(seen > 0, "{} holds no intermediate tensor", golden.folder.display());
}

#[test]
fn classifiers_and_landmarks_agree() {
    for name in ["blazeface_front_2019_f32", "mobilenet_v1_1.0_224", "face_landmark"] {
        outputs_agree(name);
    }
}

#[test]
fn deeplab_agrees() {
    let (golden, graph, values) = run("deeplabv3_257");
    let rows: Vec<f32> = array(&golden.folder.join("out_rows_0_64_128_192_256.npy"));
    let row = 257 * 21;
    let all = values[graph.outputs[0]].as_ref().unwrap();
    let actual_rows: Vec<f32> =
        [0, 64, 128, 192, 256].iter().flat_map(|y| &all[y * row..(y + 1) * row]).copied().collect();
    near("rows of the result", &actual_rows, &rows, golden.outputs[0].tolerance);
}
