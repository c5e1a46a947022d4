//! Weights in 16 and 8 bits on the device: their values in the kernels, their effect on real networks, and the same
//! bits under every plan.

use std::hash::{DefaultHasher, Hash, Hasher};

use half::f16;
use texpool::WeightFormat;
use texpool_compile::{CompileOptions, CompiledModel, Objective, StreamedIo, WeightStorage, compile};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, SharedPipelines};
use texpool_ops::graph::{Act, Constant, Conv2d, ElementType, Gather, Graph, GraphBuilder, Op, Padding, QuantParams};
use texpool_plan::{Planner, SearchControl, Strategy, TexelFormat};

use crate::{
    planned::planned,
    support::{
        first_label,
        goldens::{golden, output},
        hash::bits,
        models, open, zoo,
    },
};

const POINTWISE: Conv2d =
    Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding { top: 0, bottom: 0, left: 0, right: 0 }, groups: 1 };
const TEXELS: [TexelFormat; 2] = [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float];

fn session(gpu: &Gpu, graph: &Graph, compile: &CompileOptions) -> Executor {
    session_with(gpu, graph, compile, &ExecutorOptions::default())
}

fn session_with(gpu: &Gpu, graph: &Graph, compile: &CompileOptions, options: &ExecutorOptions) -> Executor {
    // The plan's cache name is a hash of the options without the limits, so that devices with other limits use the
    // same name.
    let mut hash = DefaultHasher::new();
    format!("{compile:?}").hash(&mut hash);
    let compile = CompileOptions { limits: gpu.texture_limits(), ..compile.clone() };
    let name = format!("weights {} {:x}", graph.name, hash.finish());
    let search = || vec![texpool_compile::compile(graph, &compile, &SearchControl::new()).unwrap()];
    let compiled = planned(&name, graph, compile.limits, search).remove(0);
    Executor::from_compiled(gpu, compiled, options).unwrap()
}

fn formatted(weight_format: WeightFormat, format: TexelFormat) -> CompileOptions {
    CompileOptions { weight_format, format, ..CompileOptions::default() }
}

/// Pseudo-random pixels in -1..1, without repetition.
fn inputs(graph: &Graph) -> Vec<Vec<f32>> {
    let values = |len: usize| (0..len).map(|i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0).collect();
    graph.inputs.iter().map(|&tensor| values(graph.shape(tensor).len())).collect()
}

fn run(session: &mut Executor) -> Vec<Vec<f32>> {
    let values = inputs(session.compiled().graph());
    session.run(&values.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
}

/// A network whose outputs for inputs of one are its weights.
fn weights_alone(constant: Constant) -> Graph {
    let mut b = GraphBuilder::new("weights");
    let x = b.input("x", &[1, 1, 1, 1]).unwrap();
    let count = constant.len();
    let w = b.constant("w", &[count, 1, 1, 1], &vec![0.0; count]).unwrap();
    let y = b.conv2d("y", POINTWISE, x, w, None, Act::None).unwrap();
    let mut graph = b.finish(&[y]).unwrap();
    graph.tensors[w].constant = Some(constant);
    graph
}

/// Every finite 16-bit float, subnormals included, is read exactly.
#[test]
fn every_half_is_exact() {
    let gpu = open();
    let finite = |bits: &u16| f16::from_bits(*bits).is_finite();
    let halves: Vec<f16> = (0..=u16::MAX).filter(finite).map(f16::from_bits).collect();
    let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    let graph = weights_alone(Constant::new(ElementType::F16, bytes.into()));
    for weights in [WeightFormat::File, WeightFormat::F16] {
        let mut session = session(&gpu, &graph, &formatted(weights, TexelFormat::Rgba32Float));
        let actual = &session.run(&[&[1.0]]).unwrap()[0];
        let wrong = halves.iter().zip(actual).find(|(half, actual_value)| half.to_f32() != **actual_value);
        assert!(wrong.is_none() && actual.len() == halves.len(), "{weights:?}: {wrong:?}");
    }
}

/// Every byte with every possible zero point gives the value that the file states, rounded as the pool's texels would
/// hold it.
#[test]
fn every_byte_is_exact() {
    let gpu = open();
    for dtype in [ElementType::I8, ElementType::U8] {
        let zeros: Vec<i32> = if dtype == ElementType::I8 { (-128..128).collect() } else { (0..256).collect() };
        let pairs: Vec<(u8, i32)> = zeros.iter().flat_map(|&zero| (0..=255u8).map(move |byte| (byte, zero))).collect();
        let (bytes, zeros): (Vec<u8>, Vec<i32>) = pairs.into_iter().unzip();
        let scales: Vec<f32> = (0..zeros.len()).map(|i| (i as f32 * 0.618_034).fract() * 0.01 + 1e-4).collect();
        let scale = QuantParams::along(scales, zeros, &[bytes.len(), 1, 1, 1], 0);
        let constant = Constant { dtype, bytes: bytes.into(), scale };
        let values = constant.to_f32().into_owned();
        let graph = weights_alone(constant);
        for format in TEXELS {
            let mut answers = [WeightFormat::F32, WeightFormat::File, WeightFormat::Int8].map(|weights| {
                let mut session = session(&gpu, &graph, &formatted(weights, format));
                session.run(&[&[1.0]]).unwrap().swap_remove(0)
            });
            if format == TexelFormat::Rgba32Float {
                assert!(answers[0] == values, "{dtype}");
            }
            let last = answers.each_mut().map(|answer| bits(std::slice::from_ref(answer)));
            assert_eq!(last, [last[0]; 3], "{dtype}, {format:?}");
        }
    }
}

/// Rows that a run looks up in tables of 8 and 16 bits.
#[test]
fn tables_as_they_lie_in_the_file_keep_every_bit() {
    let gpu = open();
    let (rows, channels) = (75, 42);
    let count = rows * channels;
    let scale = QuantParams { scale: vec![0.013], zero: vec![77], inner: 1 };
    let bytes = Constant {
        dtype: ElementType::U8,
        bytes: (0..count).map(|i| i as u8).collect::<Vec<_>>().into(),
        scale: Some(scale),
    };
    let halves: Vec<u8> = (0..count).flat_map(|i| f16::from_f32(i as f32 / 7.0).to_le_bytes()).collect();
    for (constant, divisor) in [(bytes, 4), (Constant::new(ElementType::F16, halves.into()), 2)] {
        let mut b = GraphBuilder::new("tables");
        let x = b.input("x", &[1, 1, 1, 7]).unwrap();
        let table = b.constant("table", &[1, 1, rows, channels], &vec![0.0; count]).unwrap();
        let y = b.node("y", Op::Gather(Gather { axis: 2 }), &[table, x], Act::None).unwrap();
        let mut graph = b.finish(&[y]).unwrap();
        graph.tensors[table].constant = Some(constant.clone());
        let indices = [0.0, 74.0, 3.0, 3.0, -1.0, 50.0, 20.0];
        let values = constant.to_f32();
        let expected: Vec<f32> =
            [0, 74, 3, 3, 74, 50, 20].iter().flat_map(|&row| &values[row * channels..][..channels]).copied().collect();
        let all = [WeightFormat::F32, WeightFormat::File, WeightFormat::Int8, WeightFormat::F16];
        let taken = all.map(|weights| {
            let mut session = session(&gpu, &graph, &formatted(weights, TexelFormat::Rgba32Float));
            assert_eq!(session.run(&[&indices]).unwrap()[0], expected, "{:?} {weights:?}", constant.dtype);
            session.memory().planned.weights
        });
        // Nothing rounds a table, so the other formats store what the file has, in rows of 1 KiB.
        for stored in &taken[1..] {
            assert!(*stored <= taken[0] / divisor + 1024, "{:?}: {taken:?}", constant.dtype);
        }
    }
}

/// Networks with 16-bit weights in their files.
#[test]
fn weights_as_they_lie_in_the_file_keep_every_bit() {
    // The remaining part of the bytes: a half, plus biases.
    ["face_detection_short_range.tflite", "face_landmark.tflite"].iter().for_each(|file| keeps_every_bit(file, 0.53));
}

/// A network with 8-bit weights and scales in its file, and one with 32-bit weights.
#[test]
fn large_networks_keep_every_bit() {
    keeps_every_bit(&zoo::file("inception_v3"), 0.26);
    keeps_every_bit("mobilenet_v1_1.0_224.tflite", 1.0);
}

/// Weights in the file's format give the same answers, and take this part of the bytes.
fn keeps_every_bit(file: &str, part: f64) {
    let gpu = open();
    let graph = texpool_model::import::open(models::model(file)).unwrap();
    for format in TEXELS {
        let [floats, stored] = [WeightFormat::F32, WeightFormat::File].map(|weights| {
            let mut session = session(&gpu, &graph, &formatted(weights, format));
            (session.memory().planned.weights, bits(&run(&mut session)))
        });
        println!("{file}, {format:?}: {} bytes of weights, {} as in the file", floats.0, stored.0);
        assert_eq!(floats.1, stored.1, "{file}, {format:?}");
        // 16-bit weights take as much as 16-bit texels.
        let most = if format == TexelFormat::Rgba32Float { part } else { (2.0 * part).min(1.0) };
        assert!(stored.0 as f64 <= most * floats.0 as f64, "{file}, {format:?}: {stored:?} of {floats:?}");
    }
}

/// Every plan gives the same bits with a weight format: whole or in stripes, with weights on the device, uploaded, or
/// mixed.
#[test]
fn plans_agree_in_every_format() {
    let gpu = open();
    // Its plan in stripes is found in a few seconds.
    let graph = zoo::case("ppocr_cls").graph().unwrap();
    let streamed = |resident_below| WeightStorage::Streamed { resident_below, tile_bytes: 8 << 10 };
    let pipelines = SharedPipelines::default();
    let session = |options: &CompileOptions, poison: bool| {
        let executor = ExecutorOptions { poison, pipelines: pipelines.clone(), ..ExecutorOptions::default() };
        session_with(&gpu, &graph, options, &executor)
    };
    for (format, weights) in [
        (TexelFormat::Rgba32Float, WeightFormat::F16),
        (TexelFormat::Rgba32Float, WeightFormat::Int8),
        (TexelFormat::Rgba16Float, WeightFormat::Int8),
    ] {
        let whole = formatted(weights, format);
        let naive = CompileOptions { planner: Planner::Strategy(Strategy::Naive), ..whole.clone() };
        let expected = bits(&run(&mut session(&naive, false)));
        for options in [
            CompileOptions { planner: Planner::Banks, ..whole.clone() },
            CompileOptions { weights: streamed(0), ..whole.clone() },
            CompileOptions { weights: streamed(4 << 10), stream_io: StreamedIo::BOTH, ..whole.clone() },
            CompileOptions { objective: Objective::Smallest, weights: streamed(1 << 10), ..whole.clone() },
        ] {
            let mut session = session(&options, true);
            let streamed = session.compiled().schedule().streamed();
            assert_eq!(streamed.is_empty(), options.weights == WeightStorage::Resident);
            let CompileOptions { objective, weights: storage, planner, .. } = options;
            assert_eq!(
                bits(&run(&mut session)),
                expected,
                "{weights:?}, {format:?}: {planner}, {objective:?}, {storage:?}"
            );
        }
    }
}

/// The estimate of a session's bytes, made without a device, is at most a few kilobytes above its plan.
#[test]
fn the_bytes_are_reckoned() {
    let graph = texpool_model::import::open(models::model("mobilenet_v1_1.0_224.tflite")).unwrap();
    let mut weights = Vec::new();
    for weight_format in [WeightFormat::F32, WeightFormat::F16, WeightFormat::File, WeightFormat::Int8] {
        let gpu = open();
        let options = CompileOptions { limits: gpu.texture_limits(), ..formatted(weight_format, TEXELS[0]) };
        let compiled: CompiledModel = compile(&graph, &options, &SearchControl::new()).unwrap();
        let reckoned = compiled.device_bytes();
        let mut session = Executor::from_compiled(&gpu, compiled, &ExecutorOptions::default()).unwrap();
        run(&mut session);
        let memory = session.memory();
        println!("{weight_format:?}: {reckoned} reckoned, {} planned", memory.planned.sum());
        assert!(memory.planned.sum() <= reckoned, "{weight_format:?}: {memory:?}");
        assert!(reckoned - memory.planned.sum() < 700 << 10, "{weight_format:?}: {memory:?}");
        assert!(memory.allocated.unwrap().weights >= memory.planned.weights);
        weights.push(memory.planned.weights);
    }
    let [floats, halves, file, bytes] = weights[..] else { panic!("{weights:?}") };
    assert!(floats == file && halves * 100 < floats * 51 && bytes * 100 < floats * 27, "{weights:?}");
}

/// Photos through networks with rounded weights: the error of each answer against the reference runtime, relative to
/// its greatest value. Tolerances are about twice the errors found on lavapipe.
#[test]
fn rounded_weights_keep_answers() {
    let gpu = open();
    for (name, labels, halves, bytes) in [
        ("mobilenet_v1_1.0_224", true, 6e-4, 0.03),
        ("chelsea_mobilenet_v1", true, 0.025, 0.35),
        ("blazeface_short_range", false, 2e-6, 0.22),
        ("chelsea_blazeface", false, 4e-6, 0.14),
        ("face_landmark", false, 2e-6, 0.005),
        ("posenet_mv1_075_337", false, 0.03, 0.55),
    ] {
        let golden = golden(name);
        let graph = texpool_model::import::open(models::model(&golden.model)).unwrap();
        for (weights, allowed) in [(WeightFormat::F16, halves), (WeightFormat::Int8, bytes)] {
            let mut session = session(&gpu, &graph, &formatted(weights, TexelFormat::Rgba32Float));
            let outputs = session.run(&[&golden.input]).unwrap();
            for expected in &golden.outputs {
                let Some(values) = &expected.values else { continue };
                let actual = &outputs[output(&graph, &expected.name)];
                let greatest = values.iter().fold(0.0f32, |most, value| most.max(value.abs()));
                let differs =
                    |worst: f32, (a, b): (&f32, &f32)| if (a - b).abs() <= worst { worst } else { (a - b).abs() };
                let worst = actual.iter().zip(values).fold(0.0, differs);
                println!("{name} {}, {}: {worst:e} of {greatest}", expected.name, weights.name());
                assert!(worst <= allowed * greatest, "{name} {}, {weights:?}: {worst}", expected.name);
                assert!(!labels || first_label(actual) == first_label(values), "{name}, {weights:?}");
            }
        }
    }
}

/// A network of ONNX keeps its first label, too.
#[test]
fn rounded_weights_of_an_onnx_network_keep_its_label() {
    let gpu = open();
    let case = zoo::case("mobilenet_v2");
    let graph = case.graph().unwrap();
    let answers = [WeightFormat::F32, WeightFormat::F16, WeightFormat::Int8].map(|weights| {
        let mut session = session(&gpu, &graph, &formatted(weights, TexelFormat::Rgba32Float));
        session.run(&case.inputs(&graph)).unwrap().swap_remove(0)
    });
    let greatest = answers[0].iter().fold(0.0f32, |most, value| most.max(value.abs()));
    for (answer, allowed) in answers.iter().zip([0.0, 0.02, 0.3]) {
        let worst = answer.iter().zip(&answers[0]).fold(0.0f32, |worst, (a, b)| worst.max((a - b).abs()));
        println!("mobilenet_v2: {worst:e} of {greatest}");
        assert!(worst <= allowed * greatest && first_label(answer) == first_label(&answers[0]), "{worst}");
    }
}
