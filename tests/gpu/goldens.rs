//! Real photos through real models, against the reference runtime's answers.

use texpool_compile::CompileOptions;
use texpool_gpu::{Executor, ExecutorOptions};
use texpool_ops::graph::Graph;
use texpool_plan::TexelFormat;

use crate::support::{
    first_label,
    goldens::{Golden, array, golden, output},
    models, open, zoo,
};

fn run(golden: &Golden, format: TexelFormat) -> (Graph, Vec<Vec<f32>>) {
    let graph = texpool_model::import::open(models::model(&golden.model)).unwrap();
    let gpu = open();
    let compile = CompileOptions { format, ..CompileOptions::default() };
    let mut session = Executor::new(&gpu, &graph, &ExecutorOptions { compile, ..ExecutorOptions::default() }).unwrap();
    let outputs = session.run(&[&golden.input]).unwrap();
    (graph, outputs)
}

fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |worst, (a, b)| if (a - b).abs() <= worst { worst } else { (a - b).abs() })
}

/// Every whole output of the golden within its tolerance. A NaN is never within.
fn agrees(name: &str) {
    let golden = golden(name);
    let (graph, outputs) = run(&golden, TexelFormat::Rgba32Float);
    for expected in &golden.outputs {
        let Some(values) = &expected.values else { continue };
        let worst = difference(&outputs[output(&graph, &expected.name)], values);
        println!("{name} {}: differs by {worst:e}, {:e} allowed", expected.name, expected.tolerance);
        assert!(worst <= expected.tolerance, "{name} {}: {worst} > {}", expected.name, expected.tolerance);
    }
}

/// Intermediate tensors as well as outputs.
#[test]
fn blazeface_short_range_agrees() {
    agrees("blazeface_short_range");
}

/// Weights of 16 bits, which the file dequantises.
#[test]
fn blazeface_2019_agrees() {
    agrees("blazeface_front_2019_f32");
}

/// Pointwise and depthwise convolutions, and a softmax of 1001 channels.
#[test]
fn mobilenet_v1_agrees() {
    agrees("mobilenet_v1_1.0_224");
}

/// PReLU, and a graph with several outputs.
#[test]
fn face_landmark_agrees() {
    agrees("face_landmark");
}

/// Outputs that are large images.
#[test]
fn posenet_agrees() {
    agrees("posenet_mv1_075_337");
}

/// A photo that no kernel was developed with.
#[test]
fn a_photo_that_nothing_was_tuned_on_agrees() {
    for name in ["chelsea_blazeface", "chelsea_mobilenet_v1", "chelsea_face_landmark"] {
        agrees(name);
    }
}

/// The catalogue has more of them (`zoo`); this one is run under every witness, too.
#[test]
fn an_onnx_network_agrees() {
    let case = zoo::case("mobilenet_v2");
    let graph = case.graph().unwrap();
    let mut session = Executor::new(&open(), &graph, &ExecutorOptions::default()).unwrap();
    let outputs = session.run(&case.inputs(&graph)).unwrap();
    for (output, distance) in case.distances(&graph, &outputs) {
        println!("mobilenet_v2 {output}: {distance:.3} of what is allowed");
        assert!(distance <= 1.0, "{output}: {distance} of what is allowed");
    }
}

/// The index of the largest of each 21 scores.
fn labels(scores: &[f32]) -> Vec<u8> {
    let largest = |pixel: &[f32]| {
        let mut best = 0;
        for (i, score) in pixel.iter().enumerate() {
            if *score > pixel[best] {
                best = i;
            }
        }
        best as u8
    };
    scores.chunks(21).map(largest).collect()
}

/// Dilated convolutions and large resizes.
#[test]
fn deeplab_agrees() {
    let golden = golden("deeplabv3_257");
    let (_, outputs) = run(&golden, TexelFormat::Rgba32Float);
    let rows: Vec<f32> = array(&golden.folder.join("out_rows_0_64_128_192_256.npy"));
    let row = 257 * 21;
    let rows_of_output: Vec<f32> =
        [0, 64, 128, 192, 256].iter().flat_map(|y| &outputs[0][y * row..(y + 1) * row]).copied().collect();
    let (worst, tolerance) = (difference(&rows_of_output, &rows), golden.outputs[0].tolerance);
    println!("deeplabv3_257 rows: differs by {worst:e}, {tolerance:e} allowed");
    assert!(worst <= tolerance, "{worst} > {tolerance}");
    let mask: Vec<u8> = array(&golden.folder.join("out_argmax.npy"));
    // A label may tip only where the reference's own two runtimes could disagree: nowhere on this photo.
    assert_eq!(labels(&outputs[0]), mask);
}

/// 16-bit textures change no more than one pixel of a mask in a hundred.
#[test]
fn half_precision_keeps_masks() {
    let golden = golden("deeplabv3_257");
    let (_, outputs) = run(&golden, TexelFormat::Rgba16Float);
    let mask: Vec<u8> = array(&golden.folder.join("out_argmax.npy"));
    let same = labels(&outputs[0]).iter().zip(&mask).filter(|(a, b)| a == b).count();
    println!("deeplabv3_257 f16: {same} of {} pixels", mask.len());
    assert!(same * 100 >= mask.len() * 99);
}

/// 16-bit textures change no first label.
#[test]
fn half_precision_keeps_labels() {
    for name in ["mobilenet_v1_1.0_224", "chelsea_mobilenet_v1"] {
        let golden = golden(name);
        let (_, outputs) = run(&golden, TexelFormat::Rgba16Float);
        let expected = golden.outputs[0].values.as_ref().unwrap();
        assert_eq!(first_label(&outputs[0]), first_label(expected), "{name}");
    }
}

/// 16-bit textures move no box by more than half a pixel.
#[test]
fn half_precision_keeps_boxes() {
    for name in ["blazeface_short_range", "blazeface_front_2019_f32"] {
        let golden = golden(name);
        let (graph, outputs) = run(&golden, TexelFormat::Rgba16Float);
        let find = |of: &str| {
            let expected = golden.outputs.iter().find(|e| e.name == of).unwrap();
            (&outputs[output(&graph, of)], expected.values.as_ref().unwrap())
        };
        let (boxes, boxes_expected) = find("regressors");
        let (scores, scores_expected) = find("classificators");
        let faces = |scores: &[f32]| (0..scores.len()).filter(|&i| scores[i] > 0.0).collect::<Vec<_>>();
        assert_eq!(faces(scores), faces(scores_expected), "{name}: anchors above one half");
        for anchor in faces(scores) {
            let range = anchor * 16..(anchor + 1) * 16;
            let worst = difference(&boxes[range.clone()], &boxes_expected[range]);
            println!("{name} f16: anchor {anchor} is off by {worst} pixels");
            assert!(worst <= 0.5, "{name}: anchor {anchor} is off by {worst} pixels");
        }
    }
}
