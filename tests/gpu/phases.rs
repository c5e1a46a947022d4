//! Phased plans on the device: the same bits as without phases, at several points of the front, with rows poisoned as
//! they die.

use texpool::{
    gpu::{Gpu, Session, SessionOptions},
    graph::Graph,
    plan::TexelFormat,
    prepare::{Phases, PrepareOptions, frontier},
};

use crate::support::{models, open};

fn input(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0).collect()
}

fn run(gpu: &Gpu, graph: &Graph, prepare: PrepareOptions, poison: bool) -> (Vec<Vec<f32>>, u64) {
    let mut session =
        Session::new(gpu, graph, &SessionOptions { prepare, poison, ..SessionOptions::default() }).unwrap();
    let values: Vec<Vec<f32>> = graph.inputs.iter().map(|&t| input(graph.shape(t).len())).collect();
    let slices: Vec<&[f32]> = values.iter().map(Vec::as_slice).collect();
    let found = session.run(&slices).unwrap();
    assert!(found.iter().flatten().all(|v| v.is_finite()), "an output is not finite");
    (found, session.memory().pool_planned)
}

/// The middle of the front, what `auto` takes and the smallest pool, in both formats.
fn is_invariant(file: &str) {
    let gpu = open();
    let graph = texpool::import::open(models::model(file)).unwrap();
    for format in [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float] {
        let options = |phases| PrepareOptions { format, phases, ..PrepareOptions::default() };
        let (whole, most) = run(&gpu, &graph, options(Phases::Off), false);
        let front = frontier(&graph, &options(Phases::Off)).unwrap();
        let middle = front[front.len() / 2].bytes;
        let mut least = most;
        for phases in [Phases::Budget(middle), Phases::Auto, Phases::Min] {
            let (found, bytes) = run(&gpu, &graph, options(phases), true);
            assert_eq!(whole, found, "{file}: {phases:?}, {format:?}");
            least = least.min(bytes);
            assert!(bytes <= most, "{file}: {phases:?} takes {bytes} bytes, no phases {most}");
        }
        println!("{file} {format:?}: {most} bytes without phases, {least} with");
        assert!(least * 3 < most * 2, "{file}: {least} bytes of {most}");
    }
}

#[test]
fn blazeface() {
    is_invariant("face_detection_short_range.tflite");
}

#[test]
fn mobilenet_v1() {
    is_invariant("mobilenet_v1_1.0_224.tflite");
}

#[test]
fn face_landmark() {
    is_invariant("face_landmark.tflite");
}

#[test]
fn hand_landmark() {
    is_invariant("hand_landmark_lite.tflite");
}

#[test]
fn selfie_segmentation() {
    is_invariant("selfie_segmentation.tflite");
}

#[test]
fn posenet() {
    is_invariant("posenet_mv1_075_float_from_checkpoints.tflite");
}

#[test]
fn deeplab() {
    is_invariant("deeplabv3_257_mv_gpu.tflite");
}
