//! Plan invariance: a model's outputs are the same bits under every plan, with poison on, run after run, process after
//! process.

#![cfg(test)]
#![cfg(feature = "cli")]

#[path = "support/hash.rs"]
mod hash;
#[path = "support/models.rs"]
mod models;

use std::process::Command;

use hash::bits;
use texpool::{
    gpu::{Gpu, GpuOptions, Session, SessionOptions},
    graph::Graph,
    plan::{Strategy, TexelFormat},
    prepare::PrepareOptions,
    rewrite::Rules,
};

/// A picture of no meaning: values in -1..1 that repeat nowhere.
fn input(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0).collect()
}

fn run(gpu: &Gpu, graph: &Graph, prepare: PrepareOptions, poison: bool) -> u64 {
    let mut session = Session::new(gpu, graph, &SessionOptions { prepare, poison }).unwrap();
    let values: Vec<Vec<f32>> = graph.inputs.iter().map(|&t| input(graph.shape(t).len())).collect();
    let slices: Vec<&[f32]> = values.iter().map(Vec::as_slice).collect();
    let first = session.run(&slices).unwrap();
    assert!(first.iter().flatten().all(|v| v.is_finite()), "an output is not finite");
    assert_eq!(bits(&first), bits(&session.run(&slices).unwrap()), "two runs of a session differ");
    bits(&first)
}

/// Every strategy and the best plan, rewritten or not, in both formats, all with poison, against naïve without.
fn is_invariant(file: &str) {
    let gpu = Gpu::open(&GpuOptions::default()).unwrap();
    let graph = texpool::import::open(models::model(file)).unwrap();
    for (format, rules) in [
        (TexelFormat::Rgba32Float, Rules::all()),
        (TexelFormat::Rgba32Float, Rules::none()),
        (TexelFormat::Rgba16Float, Rules::all()),
    ] {
        let options = |strategy| PrepareOptions { format, strategy, rules, ..PrepareOptions::default() };
        let naive = run(&gpu, &graph, options(Some(Strategy::Naive)), false);
        for strategy in Strategy::ALL.iter().copied().map(Some).chain([None]) {
            let found = run(&gpu, &graph, options(strategy), true);
            assert_eq!(naive, found, "{file}: {strategy:?} with poison, {format:?}");
        }
    }
}

#[test]
fn blazeface() {
    is_invariant("face_detection_short_range.tflite");
}

#[test]
fn blazeface_2019() {
    is_invariant("face_detection_front_2019.tflite");
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

const CHILD: &str = "TEXPOOL_TEST_PRINT_BITS";

/// What a child process of [`fresh_processes_agree`] does: prints the bits of one run.
#[test]
fn child_prints_bits() {
    if std::env::var_os(CHILD).is_some() {
        let gpu = Gpu::open(&GpuOptions::default()).unwrap();
        let graph = texpool::import::open(models::model("face_detection_short_range.tflite")).unwrap();
        println!("bits {:016x}", run(&gpu, &graph, PrepareOptions::default(), false));
    }
}

#[test]
fn fresh_processes_agree() {
    let child = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child_prints_bits", "--nocapture"]).env(CHILD, "1");
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        output.lines().find(|line| line.contains("bits ")).unwrap_or_else(|| panic!("no bits in {output}")).to_owned()
    };
    assert_eq!(child(), child());
}
