//! Phased plans on the device: the same bits as without phases, at several points of the front, with rows poisoned as
//! they die.

use texpool::{
    gpu::{Brought, Gpu, Session, SessionOptions},
    graph::Graph,
    plan::TexelFormat,
    prepare::{Point, PrepareOptions, Prepared, frontier},
};

use crate::support::{models, open};

fn input(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0).collect()
}

fn run(gpu: &Gpu, graph: &Graph, prepared: Prepared, options: &SessionOptions) -> (Vec<Vec<f32>>, u64) {
    let mut session = Session::of(gpu, prepared, options, Brought::default()).unwrap();
    let values: Vec<Vec<f32>> = graph.inputs.iter().map(|&t| input(graph.shape(t).len())).collect();
    let slices: Vec<&[f32]> = values.iter().map(Vec::as_slice).collect();
    let found = session.run(&slices).unwrap();
    assert!(found.iter().flatten().all(|v| v.is_finite()), "an output is not finite");
    (found, session.memory().pool_planned)
}

/// A network whose phases are tested.
struct Case {
    /// The model's file.
    file: &'static str,
    /// At least so much smaller than the pool without phases is the smallest: by this factor.
    factor: f64,
}

/// Every network that runs in phases, by file; what is added here is tested at three points of its front, in both
/// formats, with poison.
const CASES: [Case; 8] = [
    Case { file: "face_detection_short_range.tflite", factor: 4.0 },
    Case { file: "mobilenet_v1_1.0_224.tflite", factor: 6.0 },
    Case { file: "face_landmark.tflite", factor: 1.5 },
    Case { file: "hand_landmark_lite.tflite", factor: 6.0 },
    Case { file: "selfie_segmentation.tflite", factor: 1.5 },
    Case { file: "posenet_mv1_075_float_from_checkpoints.tflite", factor: 6.0 },
    Case { file: "deeplabv3_257_mv_gpu.tflite", factor: 2.5 },
    // Its outputs are views of maps with more rows than they have.
    Case { file: "face_detection_full_range_sparse.tflite", factor: 2.0 },
];

/// Two points of the front, in the middle and near the end, and the smallest pool.
fn is_invariant(Case { file, factor }: &Case) {
    let gpu = open();
    let graph = texpool::import::open(models::model(file)).unwrap();
    for format in [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float] {
        let options = PrepareOptions { format, limits: gpu.texture_limits(), ..PrepareOptions::default() };
        let front = frontier(&graph, &options, &mut |_, _| {}).unwrap();
        let points = &front.points;
        assert!(points.len() >= 4, "{file}: {} points", points.len());
        let run = |point: &Point, poison| {
            run(
                &gpu,
                &graph,
                front.prepared(point),
                &SessionOptions { prepare: options.clone(), poison, ..SessionOptions::default() },
            )
        };
        let (whole, most) = run(&points[0], false);
        assert!(points[0].segments.is_empty(), "{file}: the fastest point has phases");
        for point in [points.len() / 2, points.len() - 2, points.len() - 1].map(|i| &points[i]) {
            let (found, bytes) = run(point, true);
            assert_eq!(bytes, point.bytes);
            assert_eq!(whole, found, "{file}: {bytes} bytes, {format:?}");
        }
        let least = points[points.len() - 1].bytes;
        println!("{file} {format:?}: {most} bytes without phases, {least} with");
        assert!(least as f64 * factor < most as f64, "{file}: {least} bytes of {most}");
    }
}

/// One test a network, so that each can be asked for by name.
macro_rules! tested {
    ($($name:ident: $index:literal),* $(,)?) => {
        $(#[test] fn $name() { is_invariant(&CASES[$index]); })*

        #[test]
        fn every_case_is_tested() {
            assert_eq!([$($index),*].to_vec(), (0..CASES.len()).collect::<Vec<_>>());
        }
    };
}

tested! {
    blazeface: 0,
    mobilenet_v1: 1,
    face_landmark: 2,
    hand_landmark: 3,
    selfie_segmentation: 4,
    posenet: 5,
    deeplab: 6,
    full_range_faces: 7,
}
