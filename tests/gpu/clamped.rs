//! Values beyond 16 bits and indices outside their axis: they are counted, located, and the same under every plan.
//! Also, fused operators that keep such values in 32 bits.

use std::sync::Arc;

use texpool::{Clamp, ClampedValues, Context, Model, TensorView, half};
use texpool_compile::{CompileOptions, CompiledModel, Objective, StreamedIo, WeightFormat, WeightStorage, compile};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, RunWarnings, SharedWeights};
use texpool_model::{import, rewrite::Rules};
use texpool_ops::{
    graph::{
        Act, Binary, Conv2d, Gather, GatherElements, Graph, GraphBuilder, Op, Padding, ReduceKind, TensorId, Unary,
    },
    ops::reference,
};
use texpool_plan::{SearchControl, TexelFormat};

use crate::support::{
    every_plan,
    onnx_model::{Model as OnnxModel, bytes},
    open,
};

const CHANNELS: [bool; 4] = [false, false, false, true];
const HALF: TexelFormat = TexelFormat::Rgba16Float;
const FULL: TexelFormat = TexelFormat::Rgba32Float;

fn options(gpu: &Gpu, format: TexelFormat) -> CompileOptions {
    CompileOptions { format, limits: gpu.texture_limits(), ..CompileOptions::default() }
}

fn compiled(graph: &Graph, options: &CompileOptions) -> CompiledModel {
    compile(graph, options, &SearchControl::new()).unwrap()
}

/// Runs once and returns the outputs and the warnings.
fn run(gpu: &Gpu, compiled: CompiledModel, inputs: &[&[f32]]) -> (Vec<Vec<f32>>, RunWarnings) {
    let mut session = Executor::from_compiled(gpu, compiled, &ExecutorOptions::default()).unwrap();
    let outputs = session.run(inputs).unwrap();
    (outputs, session.warnings().unwrap())
}

/// The warnings' places in short: kind, tensor name, count.
fn places(warnings: &RunWarnings) -> Vec<(Clamp, &str, u64)> {
    warnings.clamped.iter().map(|ClampedValues { clamp, tensor, count, .. }| (*clamp, &**tensor, *count)).collect()
}

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0).collect()
}

fn number(b: &mut GraphBuilder, value: f32) -> TensorId {
    b.constant("number", &[1], &[value]).unwrap()
}

/// `x / sqrt(mean(x * x) + epsilon)` as files write it.
fn rms(epsilon: f32) -> Graph {
    let mut b = GraphBuilder::new("rms");
    let x = b.input("x", &[1, 1, 6, 48]).unwrap();
    let square = b.binary("square", Binary::Mul, x, x, Act::None).unwrap();
    let mean = b.reduce("mean", ReduceKind::Mean, CHANNELS, square).unwrap();
    let epsilon = number(&mut b, epsilon);
    let sum = b.binary("sum", Binary::Add, mean, epsilon, Act::None).unwrap();
    let root = b.unary("root", Unary::Sqrt, sum).unwrap();
    let y = b.binary("y", Binary::Div, x, root, Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

/// `x / max(norm(x), epsilon)`.
fn norm(epsilon: f32) -> Graph {
    let mut b = GraphBuilder::new("norm");
    let x = b.input("x", &[1, 1, 6, 48]).unwrap();
    let norm = b.reduce("norm", ReduceKind::L2, CHANNELS, x).unwrap();
    let epsilon = number(&mut b, epsilon);
    let least = b.binary("least", Binary::Maximum, norm, epsilon, Act::None).unwrap();
    let y = b.binary("y", Binary::Div, x, least, Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

/// Squares of 800 are beyond 16 bits, and an epsilon of 1e-12 is below them: neither is stored.
#[test]
fn norms_of_large_and_of_no_values_are_right_in_16_bits() {
    let gpu = open();
    let large: Vec<f32> = numbers(6 * 48).iter().map(|x| x * 800.0).collect();
    let zeros = vec![0.0; 6 * 48];
    for (graph, name) in
        [(rms(1e-6), "RMSNormalization"), (rms(1e-12), "RMSNormalization"), (norm(1e-12), "L2_NORMALIZATION")]
    {
        for values in [&large, &zeros] {
            let model = compiled(&graph, &options(&gpu, HALF));
            assert_eq!(model.graph().nodes.iter().map(|node| node.op.name()).collect::<Vec<_>>(), [name]);
            let expected = reference::outputs(&graph, std::slice::from_ref(values)).unwrap().remove(0);
            let (outputs, warnings) = run(&gpu, model, &[values]);
            assert!(warnings.is_empty(), "{warnings}");
            for (actual, expected) in outputs[0].iter().zip(&expected) {
                assert!((actual - expected).abs() < 4e-3, "{actual} for {expected}");
            }
        }
    }
}

/// The norm as `torch.nn.functional.normalize` is exported: the lower bound of 1e-12 is expanded before the division,
/// and would be stored as zero in 16 bits.
#[test]
fn a_norm_whose_denominator_is_expanded_is_right_for_no_values_in_16_bits() {
    let gpu = open();
    let shapes: [&[i64]; 5] = [&[6, 48], &[1, 6, 48], &[4, 48, 6], &[1, 48, 5, 7], &[2, 3, 6, 48]];
    for (dims, axis) in shapes.into_iter().flat_map(|dims| [(dims, 1i64), (dims, -1)]) {
        let mut m = OnnxModel::new();
        m.input("x", dims);
        m.tensor("axes", 7, &[1], &bytes(9, &axis.to_le_bytes()));
        m.floats("least", &[], &[1e-12]);
        m.raw_node("ReduceL2", &["x", "axes"], &["norm"], &[]);
        m.raw_node("Clip", &["norm", "least"], &["bounded"], &[]);
        m.raw_node("Shape", &["x"], &["extents"], &[]);
        m.raw_node("Expand", &["bounded", "extents"], &["expanded"], &[]);
        m.raw_node("Div", &["x", "expanded"], &["y"], &[]);
        m.output("y");
        let graph = import::from_bytes(Arc::new(m.bytes())).unwrap();
        let model = compiled(&graph, &options(&gpu, HALF));
        let zeros = vec![0.0; dims.iter().product::<i64>() as usize];
        let (outputs, warnings) = run(&gpu, model, &[&zeros]);
        assert!(warnings.is_empty(), "{dims:?} along {axis}: {warnings}");
        assert_eq!(outputs[0], zeros, "{dims:?} along {axis}");
    }
}

/// Without the rules the squares are stored: each one beyond 16 bits is counted, at the node that stores it, and no
/// longer once the values are small.
#[test]
fn values_beyond_16_bits_are_counted_where_they_are_stored() {
    let gpu = open();
    let graph = rms(1e-6);
    let values: Vec<f32> = numbers(6 * 48).iter().map(|x| x * 800.0).collect();
    // The inputs as the textures hold them.
    let stored = values.iter().map(|&x| half::f16::from_f32(x).to_f32());
    let beyond = stored.filter(|x| x * x >= 65520.0).count() as u64;
    assert!(beyond > 100);
    let plain = CompileOptions { rules: Rules::none(), ..options(&gpu, HALF) };
    let mut session = Executor::from_compiled(&gpu, compiled(&graph, &plain), &ExecutorOptions::default()).unwrap();
    assert!(session.warnings().unwrap().is_empty(), "before any run");
    session.run(&[&values]).unwrap();
    let warnings = session.warnings().unwrap();
    assert_eq!(places(&warnings), [(Clamp::Saturated, "square", beyond)]);
    let text = format!(
        "{beyond} values are beyond the range of the precision and were stored as the nearest in it, first in node 0 (MUL, `square`)"
    );
    assert_eq!(warnings.to_string(), text);
    session.run(&[&numbers(6 * 48)]).unwrap();
    assert!(session.warnings().unwrap().is_empty(), "counts are those of the last run");
    // With 32-bit texels nothing is clamped.
    let full = CompileOptions { rules: Rules::none(), ..options(&gpu, FULL) };
    assert!(run(&gpu, compiled(&graph, &full), &[&values]).1.is_empty());
}

/// The greatest number itself, what is rounded to it, infinities and NaN are stored as they are; what a caller gives is
/// counted as well, and outputs that are not finite are named.
#[test]
fn the_border_is_where_rounding_would_reach_infinity() {
    let gpu = open();
    let mut b = GraphBuilder::new("border");
    let x = b.input("x", &[1, 1, 1, 7]).unwrap();
    let two = number(&mut b, 2.0);
    let y = b.binary("y", Binary::Mul, x, two, Act::None).unwrap();
    let graph = b.finish(&[y]).unwrap();
    let values = [32752.0, 32759.0, 32760.0, -32768.0, f32::INFINITY, f32::NAN, 70000.0];
    let (outputs, warnings) = run(&gpu, compiled(&graph, &options(&gpu, HALF)), &[&values]);
    assert_eq!(outputs[0][..4], [65504.0, 65504.0, 65504.0, -65504.0]);
    // SwiftShader stores an infinity as NaN in 16 bits.
    let (nan, positive) = if gpu.device.adapter_info().name.contains("SwiftShader") { (2, 0) } else { (1, 1) };
    assert_eq!(outputs[0][4] == f32::INFINITY, positive == 1, "{outputs:?}");
    // 32759 is 32752 in 16 bits and 32760 is 32768, of which the double is beyond.
    assert_eq!(places(&warnings), [(Clamp::Saturated, "x", 1), (Clamp::Saturated, "y", 3)]);
    let output = &warnings.not_finite[0];
    assert_eq!((&*output.output, output.found.nan, output.found.positive), ("y", nan, positive));
    let finite = format!("output `y` has values that are not finite: {}; 4 values", output.found);
    assert!(warnings.to_string().starts_with(&finite), "{warnings}");
}

/// A network with some values beyond 16 bits, which runs stripe by stripe.
fn network() -> Graph {
    let mut b = GraphBuilder::new("stripes");
    let mut x = b.input("x", &[1, 24, 16, 6]).unwrap();
    for (i, scale) in [60.0, 80.0, 0.01, 40.0].into_iter().enumerate() {
        let weights: Vec<f32> = numbers(6 * 9 * 6).iter().map(|w| w * scale).collect();
        let weights = b.constant("w", &[6, 3, 3, 6], &weights).unwrap();
        let padding = Padding { top: 1, bottom: 1, left: 1, right: 1 };
        let conv = Conv2d { stride: [1; 2], dilation: [1; 2], padding, groups: 1 };
        x = b.conv2d(&format!("conv {i}"), conv, x, weights, None, Act::None).unwrap();
    }
    b.finish(&[x]).unwrap()
}

#[test]
fn every_plan_counts_the_same() {
    let (gpu, graph) = (open(), network());
    let values: Vec<f32> = numbers(24 * 16 * 6).iter().map(|x| x * 40.0).collect();
    let plain = options(&gpu, HALF);
    let (_, first) = run(&gpu, compiled(&graph, &plain), &[&values]);
    assert!(first.count(Clamp::Saturated) > 50, "{first}");
    let mut plans: Vec<CompiledModel> = every_plan(&graph, &plain).into_iter().map(|(_, compiled)| compiled).collect();
    for stream_io in [StreamedIo::NONE, StreamedIo::BOTH] {
        plans.push(compiled(&graph, &CompileOptions { objective: Objective::Smallest, stream_io, ..plain.clone() }));
    }
    assert!(plans.iter().any(|plan| plan.schedule().steps.len() > 8), "one runs stripe by stripe");
    for plan in plans {
        let (_, warnings) = run(&gpu, plan, &[&values]);
        assert_eq!(places(&warnings), places(&first));
    }
}

/// Each index outside its axis is counted once, however many elements it selects, along every axis and in both
/// formats.
#[test]
fn indices_outside_the_axis_are_counted() {
    let gpu = open();
    let (inside, outside) = ([4.0, -5.0, 0.0], [5.0, -6.0, 0.0]);
    for (axis, format) in (0..4).flat_map(|axis| [(axis, FULL), (axis, HALF)]) {
        let mut b = GraphBuilder::new("gather");
        let mut dims = [2, 3, 4, 6];
        dims[axis] = 5;
        let table = b.input("table", &dims).unwrap();
        let indices = b.input("i", &[1, 1, 1, 3]).unwrap();
        let y = b.node("y", Op::Gather(Gather { axis }), &[table, indices], Act::None).unwrap();
        let graph = b.finish(&[y]).unwrap();
        let table = numbers(dims.iter().product());
        let (_, warnings) = run(&gpu, compiled(&graph, &options(&gpu, format)), &[&table, &outside]);
        assert_eq!(places(&warnings), [(Clamp::IndexOutside, "y", 2)], "axis {axis}");
        let (_, warnings) = run(&gpu, compiled(&graph, &options(&gpu, format)), &[&table, &inside]);
        assert!(warnings.is_empty(), "axis {axis}: {warnings}");
    }
    // A table that is part of the model, and an index for each element.
    for (axis, elementwise) in [(2, false), (3, true), (1, true)] {
        let mut b = GraphBuilder::new("constant");
        let dims = [1, 5, 5, 5];
        let table = b.constant("table", &dims, &numbers(125)).unwrap();
        let indices = b.input("i", &[1, 1, 1, 3]).unwrap();
        let op = if elementwise { Op::GatherElements(GatherElements { axis }) } else { Op::Gather(Gather { axis }) };
        let y = b.node("y", op, &[table, indices], Act::None).unwrap();
        let graph = b.finish(&[y]).unwrap();
        let (_, warnings) = run(&gpu, compiled(&graph, &options(&gpu, FULL)), &[&outside]);
        assert_eq!(places(&warnings), [(Clamp::IndexOutside, "y", 2)], "axis {axis}");
        assert!(run(&gpu, compiled(&graph, &options(&gpu, FULL)), &[&inside]).1.is_empty());
    }
}

/// Read from the session, blocking and as a task, and after a submitted run.
#[test]
fn a_session_tells_what_its_last_run_met() {
    let context = Context::from_gpu(open());
    let graph = network();
    let model = Model::from_graph(graph).unwrap();
    let compiled = context.compile(&model).texels(HALF).build().unwrap();
    let mut session = compiled.session().unwrap();
    let large: Vec<f32> = numbers(24 * 16 * 6).iter().map(|x| x * 40.0).collect();
    session.run([("x", TensorView::from(&large))]).unwrap();
    let blocking = session.warnings().unwrap();
    assert!(blocking.count(Clamp::Saturated) > 50, "{blocking}");
    assert_eq!(pollster::block_on(session.warnings_async()).unwrap(), blocking);
    session.submit().unwrap().wait().unwrap();
    assert_eq!(places(&session.warnings().unwrap()), places(&blocking));
    session.trim();
    assert!(session.warnings().unwrap().is_empty());
}

/// Per four values: two beyond 16 bits, one within, and an infinity, which 16 bits hold.
const BEYOND: [f32; 4] = [1e5, 0.5, -7e4, f32::INFINITY];

/// Adds the constant `k` of such values.
fn beyond(b: &mut GraphBuilder, dims: &[usize]) -> TensorId {
    let values: Vec<f32> = BEYOND.into_iter().cycle().take(dims.iter().product()).collect();
    b.constant("k", dims, &values).unwrap()
}

fn convolution(b: &mut GraphBuilder, x: TensorId, bias: Option<TensorId>, act: Act) -> TensorId {
    let weights = b.constant("w", &[4, 1, 1, 4], &numbers(16)).unwrap();
    b.conv2d("y", POINT, x, weights, bias, act).unwrap()
}

const POINT: Conv2d =
    Conv2d { stride: [1; 2], dilation: [1; 2], padding: Padding { top: 0, bottom: 0, left: 0, right: 0 }, groups: 1 };

type Reader = fn(&mut GraphBuilder, TensorId) -> TensorId;

/// Nodes that read `x` of `[1, 2, 3, 4]` and the constant `k`, and the number of `k`'s values beyond 16 bits.
const READERS: [(&str, u64, Reader); 9] = [
    ("factor", 2, |b, x| {
        let k = beyond(b, &[4]);
        b.binary("y", Binary::Mul, x, k, Act::None).unwrap()
    }),
    ("weights", 8, |b, x| {
        let k = beyond(b, &[4, 1, 1, 4]);
        b.conv2d("y", POINT, x, k, None, Act::None).unwrap()
    }),
    ("bias", 2, |b, x| {
        let k = beyond(b, &[4]);
        convolution(b, x, Some(k), Act::None)
    }),
    ("depthwise weights", 2, |b, x| {
        let k = beyond(b, &[1, 1, 1, 4]);
        b.depthwise("y", Conv2d { groups: 4, ..POINT }, x, k, None, Act::None).unwrap()
    }),
    ("product", 4, |b, x| {
        let k = beyond(b, &[1, 2, 4, 1]);
        b.matmul("y", x, k).unwrap()
    }),
    ("slopes", 2, |b, x| {
        let k = beyond(b, &[1, 1, 1, 4]);
        b.node("y", Op::Prelu, &[x, k], Act::None).unwrap()
    }),
    ("slopes after a convolution", 2, |b, x| {
        let k = beyond(b, &[1, 1, 1, 4]);
        convolution(b, x, None, Act::Prelu(k))
    }),
    ("concatenation", 4, |b, x| {
        let k = beyond(b, &[1, 2, 1, 4]);
        b.concat("y", 2, &[x, k]).unwrap()
    }),
    ("table", 8, |b, x| {
        let k = beyond(b, &[1, 1, 4, 4]);
        let indices = b.reshape("indices", x, &[1, 1, 1, 24]).unwrap();
        b.node("y", Op::Gather(Gather { axis: 2 }), &[k, indices], Act::None).unwrap()
    }),
];

fn with_constant(read: Reader) -> Graph {
    let mut b = GraphBuilder::new("constant");
    let x = b.input("x", &[1, 2, 3, 4]).unwrap();
    let y = read(&mut b, x);
    b.finish(&[y]).unwrap()
}

/// Whatever an operator does with a constant, its values beyond 16 bits are counted under its name: not before a run,
/// and not for 32-bit texels.
#[test]
fn constants_beyond_16_bits_are_counted_by_name() {
    let gpu = open();
    let zeros = [0.0; 24];
    for (kind, count, read) in READERS {
        let graph = with_constant(read);
        let half = CompileOptions { rules: Rules::none(), ..options(&gpu, HALF) };
        let mut session = Executor::from_compiled(&gpu, compiled(&graph, &half), &ExecutorOptions::default()).unwrap();
        assert!(session.warnings().unwrap().is_empty(), "{kind}: before any run");
        for _ in 0..2 {
            session.run(&[&zeros]).unwrap();
            let warnings = session.warnings().unwrap();
            assert_eq!(places(&warnings), [(Clamp::Saturated, "k", count)], "{kind}");
            let ClampedValues { node, op, .. } = &warnings.clamped[0];
            assert_eq!((*node, *op), (None, "constant"), "{kind}");
            assert!(warnings.clamped_text()[0].ends_with("first in constant `k`"), "{warnings}");
        }
        let full = CompileOptions { rules: Rules::none(), ..options(&gpu, FULL) };
        assert_eq!(places(&run(&gpu, compiled(&graph, &full), &[&zeros]).1), [], "{kind} in 32 bits");
    }
}

/// Weights that are rounded to 16 bits are counted as well, once, whatever the texels are.
#[test]
fn weights_that_are_rounded_to_16_bits_are_counted() {
    let gpu = open();
    let graph = with_constant(READERS[1].2);
    for format in [HALF, FULL] {
        let options = CompileOptions { weight_format: WeightFormat::F16, ..options(&gpu, format) };
        let model = compiled(&graph, &options);
        let saved = texpool_compile::load(&graph, &model.save(), gpu.texture_limits()).unwrap();
        for model in [model, saved] {
            assert_eq!(places(&run(&gpu, model, &[&[0.0; 24]]).1), [(Clamp::Saturated, "k", 8)], "{format:?}");
        }
    }
}

/// Weights that are uploaded in every run count the same, also if an earlier session left them packed in a file, and if
/// two nodes read them.
#[test]
fn streamed_and_kept_weights_count_the_same() {
    let gpu = open();
    let mut b = GraphBuilder::new("streamed");
    let x = b.input("x", &[1, 2, 3, 4]).unwrap();
    let k = beyond(&mut b, &[4, 1, 1, 4]);
    let y = b.conv2d("y", POINT, x, k, None, Act::None).unwrap();
    let z = b.conv2d("z", Conv2d { stride: [1, 2], ..POINT }, x, k, None, Act::None).unwrap();
    let graph = b.finish(&[y, z]).unwrap();
    let weights = WeightStorage::Streamed { resident_below: 0, tile_bytes: 64 };
    let folder = tempfile::tempdir().unwrap();
    for weight_folder in [None, Some(folder.path()), Some(folder.path())] {
        let model = compiled(&graph, &CompileOptions { weights, ..options(&gpu, HALF) });
        assert!(!model.schedule().streamed().is_empty());
        let weights = weight_folder.map_or_else(SharedWeights::default, SharedWeights::kept_in);
        let options = ExecutorOptions { weights, ..ExecutorOptions::default() };
        let mut session = Executor::from_compiled(&gpu, model, &options).unwrap();
        session.run(&[&[0.0; 24]]).unwrap();
        assert_eq!(places(&session.warnings().unwrap()), [(Clamp::Saturated, "k", 8)], "{weight_folder:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
