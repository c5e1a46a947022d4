//! Plan invariance: a model's outputs have the same bits under every plan, with poison on, run after run, process
//! after process.

use texpool_compile::{
    BlockChoice, CompileOptions, CompiledModel, Objective, OperatorOrder, StreamedIo, Stripes, WeightStorage, compile,
};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, SharedPipelines};
use texpool_model::rewrite::Rules;
use texpool_ops::graph::{
    Act, BlockSize, Blocks, Conv2d, DeviceClass, Graph, GraphBuilder, LayerKind, MatMul, Op, Padding, Pool2d, PoolKind,
    ReduceKind, Softmax, Unary,
};
use texpool_plan::{Planner, SearchControl, Strategy, TexelFormat};

use crate::{
    support::{every_plan, graphs::branches, hash::bits, models, open},
    witness::Child,
};

/// Pseudo-random pixels in -1..1, without repetition.
fn input(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0).collect()
}

/// Returns a hash of the outputs' bits, after checking that `times` runs of a session give the same.
fn run(gpu: &Gpu, compiled: CompiledModel, pipelines: &SharedPipelines, poison: bool, times: usize) -> u64 {
    let options = ExecutorOptions { pipelines: pipelines.clone(), poison, ..ExecutorOptions::default() };
    let mut session = Executor::from_compiled(gpu, compiled, &options).unwrap();
    let graph = session.compiled().graph();
    let values: Vec<Vec<f32>> = graph.inputs.iter().map(|&t| input(graph.shape(t).len())).collect();
    let slices: Vec<&[f32]> = values.iter().map(Vec::as_slice).collect();
    let mut run = || {
        let outputs = session.run(&slices).unwrap();
        assert!(outputs.iter().flatten().all(|v| v.is_finite()), "an output is not finite");
        bits(&outputs)
    };
    let first = run();
    assert!((1..times).all(|_| run() == first), "two runs of a session differ");
    first
}

/// Compares the naïve plan without poison with every strategy, the optimum and banks with poison, rewritten or not,
/// in both formats. A session of the last plan runs again, since a second run sees the texture contents that the
/// first left.
fn every_strategy_agrees(file: &str) {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let graph = texpool_model::import::open(models::model(file)).unwrap();
    let configurations = [
        (TexelFormat::Rgba32Float, Rules::all()),
        (TexelFormat::Rgba32Float, Rules::none()),
        (TexelFormat::Rgba16Float, Rules::all()),
    ];
    for (format, rules) in configurations {
        let limits = gpu.texture_limits();
        let options = CompileOptions { format, rules, limits, ..CompileOptions::default() };
        let naive = CompileOptions { planner: Planner::Strategy(Strategy::Naive), ..options.clone() };
        let compiled = compile(&graph, &naive, &SearchControl::new()).unwrap();
        let naive = run(&gpu, compiled, &pipelines, false, 1);
        let mut plans = every_plan(&graph, &options).into_iter().peekable();
        while let Some((planner, compiled)) = plans.next() {
            let times = if plans.peek().is_some() { 1 } else { 2 };
            let answer_bits = run(&gpu, compiled, &pipelines, true, times);
            assert_eq!(naive, answer_bits, "{file}: {planner} with poison, {format:?}");
        }
    }
}

/// A test for each model.
macro_rules! models {
    ($($name:ident $file:literal)*) => {
        $(#[test] fn $name() { super::every_strategy_agrees($file); })*
    };
}

mod every_strategy {
    models! {
        blazeface "face_detection_short_range.tflite"
        blazeface_2019 "face_detection_front_2019.tflite"
        mobilenet_v1 "mobilenet_v1_1.0_224.tflite"
        face_landmark "face_landmark.tflite"
        hand_landmark "hand_landmark_lite.tflite"
        selfie_segmentation "selfie_segmentation.tflite"
        posenet "posenet_mv1_075_float_from_checkpoints.tflite"
        deeplab "deeplabv3_257_mv_gpu.tflite"
    }
}

/// Operators compute the same bits in every order, with poison where no live tensor lies.
#[test]
fn the_order_of_operators_changes_no_bit() {
    let (gpu, pipelines, graph) = (open(), SharedPipelines::default(), branches());
    let limits = gpu.texture_limits();
    let streamed = WeightStorage::Streamed { resident_below: 0, tile_bytes: 1024 };
    for (objective, weights, stream_io) in [
        (Objective::Fastest, WeightStorage::Resident, StreamedIo::NONE),
        (Objective::Fastest, streamed, StreamedIo::BOTH),
        (Objective::Smallest, streamed, StreamedIo::BOTH),
    ] {
        let options = CompileOptions { objective, weights, stream_io, limits, ..CompileOptions::default() };
        let compiled = |order| compile(&graph, &CompileOptions { order, ..options.clone() }, &SearchControl::new());
        let (file, memory) = (compiled(OperatorOrder::File).unwrap(), compiled(OperatorOrder::Memory).unwrap());
        assert!(memory.order().is_some_and(|order| !order.is_of_file()), "{:?}", memory.order());
        let file = run(&gpu, file, &pipelines, true, 1);
        assert_eq!(file, run(&gpu, memory, &pipelines, true, 2), "{objective:?}");
    }
}

/// Stripes that the caller sets change no bit, with weights on the device and streamed.
#[test]
fn stripes_that_are_set_change_no_bit() {
    let (gpu, pipelines, graph) = (open(), SharedPipelines::default(), layers_with_blocks());
    let limits = gpu.texture_limits();
    let streamed = WeightStorage::Streamed { resident_below: 0, tile_bytes: 1024 };
    for (weights, stream_io) in [(WeightStorage::Resident, StreamedIo::NONE), (streamed, StreamedIo::BOTH)] {
        let options = CompileOptions { weights, stream_io, limits, ..CompileOptions::default() };
        let compiled = |stripes| compile(&graph, &CompileOptions { stripes, ..options.clone() }, &SearchControl::new());
        let whole = run(&gpu, compiled(Stripes::Searched).unwrap(), &pipelines, true, 1);
        for text in ["1", "2", "3", "99", "twice=5,wide=5,deep=2"] {
            let set = compiled(text.parse().unwrap()).unwrap();
            assert!(set.tiled().is_some(), "{text}");
            assert_eq!(run(&gpu, set, &pipelines, true, 2), whole, "{text}");
        }
    }
}

/// Layers of all kernels with blocks: a picture's first layer, groups, long sums, a product, one slice, and one pixel.
fn layers_with_blocks() -> Graph {
    let mut b = GraphBuilder::new("blocks");
    let mut weights = {
        let mut count = 0;
        move |b: &mut GraphBuilder, dims: [usize; 4]| {
            count += 1;
            let value = |i: usize| ((i * 7 + count) % 23) as f32 / 92.0 - 0.12;
            let values: Vec<f32> = (0..dims.iter().product()).map(value).collect();
            b.constant("w", &dims, &values).unwrap()
        }
    };
    let conv = |window: usize, stride: usize, groups: usize| {
        let around = window / 2;
        let padding = Padding { top: around, bottom: around, left: around, right: around };
        Conv2d { stride: [stride; 2], dilation: [1, 1], padding, groups }
    };
    let x = b.input("x", &[1, 27, 25, 3]).unwrap();
    let w = weights(&mut b, [20, 7, 7, 3]);
    let first = b.conv2d("first", conv(7, 2, 1), x, w, None, Act::None).unwrap();
    let w = weights(&mut b, [30, 3, 3, 2]);
    let grouped = b.conv2d("grouped", conv(3, 1, 10), first, w, None, Act::None).unwrap();
    let w = weights(&mut b, [1, 3, 3, 60]);
    let twice = b.depthwise("twice", conv(3, 1, 1), grouped, w, None, Act::None).unwrap();
    let w = weights(&mut b, [388, 1, 1, 60]);
    let wide = b.conv2d("wide", conv(1, 1, 1), twice, w, None, Act::None).unwrap();
    let w = weights(&mut b, [18, 1, 1, 388]);
    let deep = b.conv2d("deep", conv(1, 1, 1), wide, w, None, Act::None).unwrap();
    let product = b.node("product", Op::MatMul(MatMul { transpose_b: true }), &[deep, deep], Act::None).unwrap();
    let w = weights(&mut b, [4, 3, 3, 18]);
    let narrow = b.conv2d("narrow", conv(3, 1, 1), deep, w, None, Act::None).unwrap();
    let mean = b.mean("mean", [false, true, true, false], wide).unwrap();
    let w = weights(&mut b, [10, 1, 1, 388]);
    let scores = b.conv2d("scores", conv(1, 1, 1), mean, w, None, Act::None).unwrap();
    b.finish(&[product, narrow, scores]).unwrap()
}

/// Blocks change which invocation computes a value, not the order of its sums: every class of devices and every
/// measured block gives the same bits, with whole tensors, in stripes, and in tiles of weights.
#[test]
fn blocks_change_no_bit() {
    let (gpu, pipelines, graph) = (open(), SharedPipelines::default(), layers_with_blocks());
    let bits = |blocks: Blocks, objective, format| {
        let streamed = WeightStorage::Streamed { resident_below: 0, tile_bytes: 1024 };
        let weights = if objective == Objective::Fastest { WeightStorage::Resident } else { streamed };
        let (limits, blocks) = (gpu.texture_limits(), BlockChoice::Fixed(blocks));
        let options = CompileOptions { blocks, objective, weights, limits, format, ..CompileOptions::default() };
        run(&gpu, compile(&graph, &options, &SearchControl::new()).unwrap(), &pipelines, true, 1)
    };
    let formats = [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float];
    let expected = formats.map(|format| bits(Blocks::default(), Objective::Fastest, format));
    for class in DeviceClass::ALL {
        assert_eq!(bits(Blocks::of(class), Objective::Fastest, formats[0]), expected[0], "{class:?}");
    }
    // These layers are too small for the larger blocks of the classes. Each takes seconds to compile.
    for (pixels, slices) in [(2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (8, 4)] {
        let mut blocks = Blocks::default();
        LayerKind::ALL.into_iter().for_each(|kind| blocks.tune(kind, BlockSize::new(pixels, slices)));
        assert_eq!(bits(blocks, Objective::Fastest, formats[0]), expected[0], "{pixels}x{slices}");
    }
    let class = Blocks::of(DeviceClass::Unknown);
    assert_eq!(bits(class, Objective::Smallest, formats[0]), expected[0], "in stripes and tiles");
    assert_eq!(bits(class, Objective::Fastest, formats[1]), expected[1], "in 16 bits");
}

/// A pixel's powers are added up in the same order by an invocation and by a workgroup, in whole tensors and in stripes.
#[test]
fn every_class_of_devices_adds_up_a_softmax_in_the_same_order() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let mut b = GraphBuilder::new("softmax");
    let x = b.input("x", &[1, 3, 40, 523]).unwrap();
    let mask: Vec<f32> = (0..40 * 523).map(|i| (i % 7) as f32 * -0.3).collect();
    let mask = b.constant("mask", &[1, 1, 40, 523], &mask).unwrap();
    let scaled = b.unary("scaled", Unary::Abs, x).unwrap();
    let y = b.node("y", Op::Softmax(Softmax { beta: 3.0, log: false }), &[scaled, mask], Act::None).unwrap();
    let graph = b.finish(&[y]).unwrap();
    let bits = |class, objective| {
        let (limits, blocks) = (gpu.texture_limits(), BlockChoice::Fixed(Blocks::of(class)));
        let options = CompileOptions { blocks, objective, limits, ..CompileOptions::default() };
        let compiled = compile(&graph, &options, &SearchControl::new()).unwrap();
        run(&gpu, compiled, &pipelines, true, 1)
    };
    let expected = bits(DeviceClass::Software, Objective::Fastest);
    assert_eq!(bits(DeviceClass::Nvidia, Objective::Fastest), expected);
    for class in [DeviceClass::Software, DeviceClass::Nvidia] {
        assert_eq!(bits(class, Objective::Smallest), expected, "{class:?}");
    }
}

/// Winograd's tensors are planned, divided and streamed like all others: the same bits whole, in stripes of rows and in
/// tiles of weights.
#[test]
fn winograd_keeps_its_bits_under_every_plan() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let mut b = GraphBuilder::new("winograd");
    let same = Padding { top: 1, bottom: 1, left: 1, right: 1 };
    let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: same, groups: 1 };
    let weights: Vec<f32> = (0..9 * 64 * 64).map(|i| (i % 23) as f32 / 92.0 - 0.12).collect();
    let weights = b.constant("w", &[64, 3, 3, 64], &weights).unwrap();
    let x = b.input("x", &[2, 29, 30, 64]).unwrap();
    let y = b.conv2d("y", conv, x, weights, None, Act::None).unwrap();
    let pooled = b.pool("pooled", Pool2d::plain(PoolKind::Max, [3, 3], [2, 2], Padding::default()), y).unwrap();
    let z = b.conv2d("z", conv, pooled, weights, None, Act::None).unwrap();
    let graph = b.finish(&[z]).unwrap();
    let rules = Rules::default().with(&["winograd"]).unwrap();
    for format in [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float] {
        let bits = |objective, weights, stream_io| {
            let limits = gpu.texture_limits();
            let defaults = CompileOptions::default();
            let options = CompileOptions { objective, weights, stream_io, limits, format, rules, ..defaults };
            let compiled = compile(&graph, &options, &SearchControl::new()).unwrap();
            assert_eq!(compiled.graph().nodes.iter().filter(|node| node.op.name() == "WINOGRAD_OUTPUT").count(), 2);
            run(&gpu, compiled, &pipelines, true, 2)
        };
        let streamed = WeightStorage::Streamed { resident_below: 0, tile_bytes: 1024 };
        let whole = bits(Objective::Fastest, WeightStorage::Resident, StreamedIo::NONE);
        assert_eq!(whole, bits(Objective::Smallest, WeightStorage::Resident, StreamedIo::NONE));
        assert_eq!(whole, bits(Objective::Smallest, streamed, StreamedIo::BOTH));
    }
}

/// Joined convolutions give the same bits whole, in stripes of rows and with streamed weights, and in 32 bits those of
/// two steps: they add the same products in the same order.
#[test]
fn joined_convolutions_keep_their_bits() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let mut b = GraphBuilder::new("separable");
    let around = Padding { top: 1, bottom: 1, left: 1, right: 1 };
    let conv = |stride, padding| Conv2d { stride: [stride; 2], dilation: [1, 1], padding, groups: 1 };
    let mut constant = |name, dims: &[usize]| {
        let values: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| (i % 23) as f32 / 92.0 - 0.12).collect();
        b.constant(name, dims, &values).unwrap()
    };
    let (window, weights) = (constant("window", &[1, 3, 3, 12]), constant("weights", &[40, 1, 1, 12]));
    let (next_window, next_weights) =
        (constant("next window", &[1, 3, 3, 40]), constant("next weights", &[9, 1, 1, 40]));
    let x = b.input("x", &[2, 29, 30, 12]).unwrap();
    let relu = Act::Unary(Unary::Relu);
    let y = b.depthwise("y", conv(1, around), x, window, None, relu).unwrap();
    let y = b.conv2d("y", conv(1, Padding::default()), y, weights, None, relu).unwrap();
    let z = b.depthwise("z", conv(2, around), y, next_window, None, relu).unwrap();
    let z = b.conv2d("z", conv(1, Padding::default()), z, next_weights, None, Act::None).unwrap();
    let graph = b.finish(&[z]).unwrap();
    for format in [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float] {
        let bits = |names: &[&str], objective, weights| {
            let rules = Rules::default().with(names).unwrap();
            let (limits, defaults) = (gpu.texture_limits(), CompileOptions::default());
            let options = CompileOptions { objective, weights, limits, format, rules, ..defaults };
            let compiled = compile(&graph, &options, &SearchControl::new()).unwrap();
            assert_eq!(compiled.graph().nodes.len(), if names.is_empty() { 4 } else { 2 });
            run(&gpu, compiled, &pipelines, true, 2)
        };
        let streamed = WeightStorage::Streamed { resident_below: 0, tile_bytes: 1024 };
        let whole = bits(&["separable"], Objective::Fastest, WeightStorage::Resident);
        assert_eq!(whole, bits(&["separable"], Objective::Smallest, WeightStorage::Resident));
        assert_eq!(whole, bits(&["separable"], Objective::Smallest, streamed));
        if format == TexelFormat::Rgba32Float {
            assert_eq!(whole, bits(&[], Objective::Fastest, WeightStorage::Resident));
        }
    }
}

/// A graph of large pools and reductions.
fn large_reductions(format: TexelFormat) -> Graph {
    let mut b = GraphBuilder::new("large");
    let x = b.input("x", &[1, 160, 150, 5]).unwrap();
    let weights: Vec<f32> = (0..45).map(|i| (i % 7) as f32 / 7.0 - 0.4).collect();
    let weights = b.constant("w", &[1, 3, 3, 5], &weights).unwrap();
    let conv = Conv2d {
        stride: [1, 1],
        dilation: [1, 1],
        padding: Padding { top: 1, bottom: 1, left: 1, right: 1 },
        groups: 1,
    };
    let x = b.depthwise("conv", conv, x, weights, None, Act::None).unwrap();
    let pool = |kind| Pool2d::plain(kind, [129, 130], [3, 2], Padding { top: 4, ..Padding::default() });
    let mut outputs = Vec::new();
    for kind in [PoolKind::Max, PoolKind::Average, PoolKind::Lp { p: 2 }] {
        outputs.push(b.pool(&format!("{kind:?}"), pool(kind), x).unwrap());
    }
    for kind in [ReduceKind::Sum, ReduceKind::Max, ReduceKind::L2, ReduceKind::LogSumExp, ReduceKind::Mean] {
        outputs.push(b.reduce(&format!("{kind:?}"), kind, [false, true, true, false], x).unwrap());
    }
    // Indices this large are not exact in 16-bit texels.
    if format == TexelFormat::Rgba32Float {
        let flat = b.reshape("flat", x, &[1, 1, 160 * 150, 5]).unwrap();
        outputs.push(b.reduce("index", ReduceKind::ArgMax { last: false }, [false, false, true, false], flat).unwrap());
    }
    b.finish(&outputs).unwrap()
}

/// Pools and reductions in two steps or by workgroups give the same bits under every plan and in stripes.
#[test]
fn large_reductions_agree() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    for format in [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float] {
        let graph = large_reductions(format);
        let options = CompileOptions { format, limits: gpu.texture_limits(), ..CompileOptions::default() };
        let options = CompileOptions { planner: Planner::Strategy(Strategy::Naive), ..options };
        let with = |objective| CompileOptions { objective, ..options.clone() };
        let planned = |objective| compile(&graph, &with(objective), &SearchControl::new()).unwrap();
        let naive = run(&gpu, planned(Objective::Fastest), &pipelines, false, 1);
        let tiled = planned(Objective::Smallest);
        assert_eq!(naive, run(&gpu, tiled, &pipelines, true, 2), "tiled, {format:?}");
        for (planner, compiled) in every_plan(&graph, &options) {
            assert_eq!(naive, run(&gpu, compiled, &pipelines, true, 1), "{planner}, {format:?}");
        }
    }
}

/// Every run under every plan gives the same bits.
#[test]
fn one_process() {
    let gpu = open();
    let graph = texpool_model::import::open(models::model("face_detection_short_range.tflite")).unwrap();
    let options = CompileOptions { limits: gpu.texture_limits(), ..CompileOptions::default() };
    let compiled = compile(&graph, &options, &SearchControl::new()).unwrap();
    println!("{BITS}{:016x}", run(&gpu, compiled, &SharedPipelines::default(), false, 2));
}

/// Prefix of the line in which [`one_process`] prints the bits of its run.
const BITS: &str = "bits: ";

/// Separate processes give the same bits: nothing depends on addresses or on the order of threads.
#[test]
fn fresh_processes_agree() {
    let bits = || Child::new().only("invariance::one_process").run().must_pass().values(BITS);
    let first = bits();
    assert_eq!(first.len(), 1);
    assert_eq!(first, bits());
}
