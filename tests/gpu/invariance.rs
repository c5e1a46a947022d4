//! Plan invariance: a model's outputs are the same bits under every plan, with poison on, run after run, process after
//! process.

use texpool::{
    gpu::{Gpu, Session, SessionOptions},
    graph::Graph,
    plan::{Choice, Strategy, TexelFormat},
    prepare::PrepareOptions,
    rewrite::Rules,
};

use crate::{
    support::{choices, hash::bits, models, open},
    witness::Child,
};

/// A picture of no meaning: values in -1..1 that repeat nowhere.
fn input(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0).collect()
}

fn run(gpu: &Gpu, graph: &Graph, prepare: PrepareOptions, poison: bool) -> u64 {
    let mut session =
        Session::new(gpu, graph, &SessionOptions { prepare, poison, ..SessionOptions::default() }).unwrap();
    let values: Vec<Vec<f32>> = graph.inputs.iter().map(|&t| input(graph.shape(t).len())).collect();
    let slices: Vec<&[f32]> = values.iter().map(Vec::as_slice).collect();
    let first = session.run(&slices).unwrap();
    assert!(first.iter().flatten().all(|v| v.is_finite()), "an output is not finite");
    assert_eq!(bits(&first), bits(&session.run(&slices).unwrap()), "two runs of a session differ");
    bits(&first)
}

/// The plans chosen by `plans`, all with poison, against the naïve plan without.
fn agree(file: &str, configurations: &[(TexelFormat, Rules)], plans: Plans) {
    let gpu = open();
    let graph = texpool::import::open(models::model(file)).unwrap();
    for &(format, rules) in configurations {
        let options = |choice| PrepareOptions { format, choice, rules, ..PrepareOptions::default() };
        let naive = run(&gpu, &graph, options(Choice::Strategy(Strategy::Naive)), false);
        for choice in plans(&graph, &options(Choice::Best)) {
            let found = run(&gpu, &graph, options(choice), true);
            assert_eq!(naive, found, "{file}: {choice} with poison, {format:?}");
        }
    }
}

/// Which plans to try on a model.
type Plans = fn(&Graph, &PrepareOptions) -> Vec<Choice>;

/// Every strategy, the optimum and banks, rewritten or not, in both formats.
fn every_strategy_agrees(file: &str) {
    let configurations = [
        (TexelFormat::Rgba32Float, Rules::all()),
        (TexelFormat::Rgba32Float, Rules::none()),
        (TexelFormat::Rgba16Float, Rules::all()),
    ];
    agree(file, &configurations, choices);
}

/// What a user runs: the best plan, rewritten, in both formats.
fn best_plan_agrees(file: &str) {
    let configurations = [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float].map(|format| (format, Rules::all()));
    agree(file, &configurations, |_, _| vec![Choice::Best]);
}

/// A test for each model.
macro_rules! models {
    ($check:ident: $($name:ident $file:literal)*) => {
        $(#[test] fn $name() { super::$check($file); })*
    };
    ($check:ident) => {
        models! { $check:
            blazeface "face_detection_short_range.tflite"
            blazeface_2019 "face_detection_front_2019.tflite"
            mobilenet_v1 "mobilenet_v1_1.0_224.tflite"
            face_landmark "face_landmark.tflite"
            hand_landmark "hand_landmark_lite.tflite"
            selfie_segmentation "selfie_segmentation.tflite"
            posenet "posenet_mv1_075_float_from_checkpoints.tflite"
            deeplab "deeplabv3_257_mv_gpu.tflite"
        }
    };
}

mod every_strategy {
    models!(every_strategy_agrees);
}

mod best_plan {
    models!(best_plan_agrees);
}

#[test]
fn one_process() {
    let gpu = open();
    let graph = texpool::import::open(models::model("face_detection_short_range.tflite")).unwrap();
    println!("{BITS}{:016x}", run(&gpu, &graph, PrepareOptions::default(), false));
}

/// What [`one_process`] prints before the bits of its run.
const BITS: &str = "bits: ";

#[test]
fn fresh_processes_agree() {
    let bits = || Child::new().only("invariance::one_process").run().must_pass().values(BITS);
    let first = bits();
    assert_eq!(first.len(), 1);
    assert_eq!(first, bits());
}
