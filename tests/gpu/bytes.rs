//! Pools of bytes: every tensor has the values that it has in a pool of 32-bit floats, under every plan.

use texpool::{Context, Model, TensorView, TextureLayout, WeightFormat};
use texpool_compile::{CompileOptions, CompiledModel, Objective, StreamedIo, WeightStorage, compile, pareto_front};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, Role, SharedPipelines, TensorRole, TextureSet};
use texpool_ops::graph::{
    Act, Binary, Constant, Conv2d, DepthwiseConv2d, ElementType, Graph, GraphBuilder, Op, Pad, PadMode, Padding,
    Pool2d, PoolKind, QuantParams, Quantization, QuantizedAdd, Requantization, Requantize, Shape, Softmax, TensorId,
    TexelStorage, Unary,
};
use texpool_plan::{Planner, SearchControl, Strategy, TexelFormat};

use crate::support::{every_plan, graphs::branches, hash::bits, models, open, zoo};

const SAME: Padding = Padding { top: 1, bottom: 1, left: 1, right: 1 };
const HEIGHT: usize = 14;
const WIDTH: usize = 11;

/// Adds weights of 8 bits.
fn weights(b: &mut GraphBuilder, name: &str, dims: [usize; 4]) -> TensorId {
    b.constant(
        name,
        &dims,
        &(0..dims.iter().product()).map(|i| ((i * 37 + 11) % 200) as f32 - 100.0).collect::<Vec<_>>(),
    )
    .unwrap()
}

/// Adds the requantisation of a layer of `channels` channels.
fn requantize(b: &mut GraphBuilder, name: &str, channels: usize, arithmetic: Requantization) -> Act {
    let factor = |c: usize| 2e-4 + 1e-5 * c as f32;
    let constant = match arithmetic {
        Requantization::Float => Requantize::float(&(0..channels).map(|c| (0, factor(c))).collect::<Vec<_>>()),
        Requantization::Fixed => Requantize::fixed(
            &(0..channels).map(|c| (0, texpool_ops::graph::FixedPoint::new(factor(c).into()))).collect::<Vec<_>>(),
        ),
    };
    let factors = b.constant(name, &[1, 1, Requantize::ROWS, channels], &constant.to_f32()).unwrap();
    Act::Requantize(Requantize { factors, arithmetic, least: -120, most: 135 })
}

/// A network of 8-bit tensors and floats that has every way from one to the other.
fn network() -> Graph {
    let mut b = GraphBuilder::new("bytes and floats");
    let x = b.input("x", &[1, HEIGHT, WIDTH, 5]).unwrap();
    let gain = b.input("gain", &[1, HEIGHT, WIDTH, 5]).unwrap();
    let quantize = Unary::Quantize { scale: 0.05, least: -131, most: 124 };
    let q = b.unary("q", quantize, x).unwrap();
    let wide = weights(&mut b, "wide", [8, 3, 3, 5]);
    let act = requantize(&mut b, "factors of conv", 8, Requantization::Float);
    let convolution = Conv2d { stride: [1; 2], dilation: [1; 2], padding: SAME, groups: 1 };
    let conv = b.node("conv", Op::Conv2d(convolution), &[q, wide], act).unwrap();
    let taps = weights(&mut b, "taps", [1, 3, 3, 8]);
    let act = requantize(&mut b, "factors of depthwise", 8, Requantization::Fixed);
    let depthwise = DepthwiseConv2d(convolution);
    let depthwise = b.node("depthwise", Op::DepthwiseConv2d(depthwise), &[conv, taps], act).unwrap();
    let sum = QuantizedAdd::shift([0.7, 0.4], 1.0, [-120, 135]).unwrap();
    let sum = b.node("sum", Op::QuantizedAdd(sum), &[conv, depthwise], Act::None).unwrap();
    let both = b.concat("both", 3, &[conv, sum]).unwrap();
    let pad = Pad { before: [0, 1, 0, 0], after: [0, 1, 0, 0], mode: PadMode::Constant(0.0) };
    let padded = b.node("padded", Op::Pad(pad), &[both], Act::None).unwrap();
    let pool = b.pool("pool", Pool2d::plain(PoolKind::Max, [3, 1], [1; 2], Padding::default()), padded).unwrap();
    let scale = b.constant("scale", &[1], &[0.037]).unwrap();
    let real = b.binary("real", Binary::Mul, pool, scale, Act::None).unwrap();
    let narrow = b.constant("narrow", &[5, 1, 1, 16], &(0..80).map(|i| (i % 9) as f32 * 0.1 - 0.4).collect::<Vec<_>>());
    let pointwise = Conv2d { stride: [1; 2], dilation: [1; 2], padding: Padding::default(), groups: 1 };
    let floats = b.conv2d("floats", pointwise, real, narrow.unwrap(), None, Act::None).unwrap();
    let scores = b.node("scores", Op::Softmax(Softmax { beta: 1.0, log: false }), &[floats], Act::None).unwrap();
    let grid = Unary::FakeQuant { scale: 1.0 / 256.0, least: 0, most: 255 };
    let scores = b.unary("rounded", grid, scores).unwrap();
    let gained = b.binary("gained", Binary::Mul, floats, gain, Act::None).unwrap();
    let rows = b.reshape("rows", gained, &[1, 1, HEIGHT * WIDTH, 5]).unwrap();
    let mut graph = b.finish(&[scores, gained, rows, real]).unwrap();
    graph.tensors[x].element_type = ElementType::I8;
    graph.tensors[x].quantization = Some(Quantization { scale: 0.05, zero_point: 3 });
    for name in [wide, taps] {
        let tensor = &mut graph.tensors[name];
        let integers: Vec<u8> =
            tensor.constant.as_ref().unwrap().to_f32().iter().map(|&value| (value as i8).cast_unsigned()).collect();
        let constant = Constant::new(ElementType::I8, integers.into());
        tensor.constant = Some(Constant { scale: Some(QuantParams::whole(1.0, 0)), ..constant });
    }
    graph
}

/// Inputs of the network: integers times their scale, and any floats.
fn inputs() -> [Vec<f32>; 2] {
    let elements = 0..HEIGHT * WIDTH * 5;
    let integers = elements.clone().map(|i| 0.05 * ((i * 73 + 5) % 256) as f32 - 0.05 * 131.0);
    // Multiples as the caller's integers stand for.
    let x = integers.map(|value| (value / 0.05).round() * 0.05);
    [x.collect(), elements.map(|i| (i as f32 * 0.618_034).sin()).collect()]
}

fn options(gpu: &Gpu, format: TexelFormat) -> CompileOptions {
    CompileOptions { format, limits: gpu.texture_limits(), ..CompileOptions::default() }
}

/// Returns the outputs, with one zero for both signs: bytes have no other.
fn run(gpu: &Gpu, compiled: CompiledModel, poison: bool, pipelines: &SharedPipelines) -> Vec<Vec<f32>> {
    let options = ExecutorOptions { poison, pipelines: pipelines.clone(), ..ExecutorOptions::default() };
    let mut session = Executor::from_compiled(gpu, compiled, &options).unwrap();
    let [x, gain] = inputs();
    let mut outputs = session.run(&[&x, &gain]).unwrap();
    outputs.iter_mut().flatten().for_each(|value| *value += 0.0);
    outputs
}

fn naive(graph: &Graph, options: &CompileOptions) -> CompiledModel {
    let options = CompileOptions { planner: Planner::Strategy(Strategy::Naive), ..options.clone() };
    compile(graph, &options, &SearchControl::new()).unwrap()
}

/// The storage of a tensor of the rewritten graph.
fn storage(compiled: &CompiledModel, name: &str) -> TexelStorage {
    compiled.graph().tensors.iter().find(|tensor| tensor.name == name).unwrap().storage
}

#[test]
fn every_plan_has_the_values_of_floats() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let graph = network();
    let floats = naive(&graph, &options(&gpu, TexelFormat::Rgba32Float));
    let expected = run(&gpu, floats.clone(), false, &pipelines);
    assert!(expected.iter().flatten().any(|&value| value != 0.0));
    let options = options(&gpu, TexelFormat::Rgba8Uint);
    let bytes = naive(&graph, &options);
    // Four bytes take a texel, and four floats take four. The pool writes `real`, which it multiplies by a constant.
    for name in ["q", "conv", "depthwise", "sum", "both"] {
        assert_eq!(
            storage(&bytes, name),
            TexelStorage::Bytes { scale: 1.0, least: if name == "q" { -131 } else { -120 } }
        );
    }
    assert_eq!(storage(&bytes, "x"), TexelStorage::Bytes { scale: 0.05, least: -131 });
    assert_eq!(storage(&bytes, "real"), TexelStorage::Bytes { scale: 0.037, least: -120 });
    assert_eq!(storage(&bytes, "rounded"), TexelStorage::Bytes { scale: 1.0 / 256.0, least: 0 });
    for name in ["gain", "floats", "gained", "rows"] {
        assert_eq!(storage(&bytes, name), TexelStorage::Planes, "{name}");
    }
    for (planner, compiled) in every_plan(&graph, &options) {
        for poison in [false, true] {
            assert!(run(&gpu, compiled.clone(), poison, &pipelines) == expected, "{planner}, poison {poison}");
        }
    }
    let front = pareto_front(&graph, &options, &SearchControl::new()).unwrap();
    assert!(front.points().len() > 1);
    for (index, point) in front.points().iter().enumerate() {
        let compiled = front.compiled(index).unwrap();
        assert!(run(&gpu, compiled, true, &pipelines) == expected, "a pool of {} bytes", point.bytes);
    }
}

/// Weights go through the pool in every format, and inputs and outputs with them.
#[test]
fn streamed_weights_lie_in_bytes() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let graph = network();
    for weight_format in [WeightFormat::F32, WeightFormat::F16, WeightFormat::File] {
        let floats = CompileOptions { weight_format, ..options(&gpu, TexelFormat::Rgba32Float) };
        let expected = run(&gpu, naive(&graph, &floats), false, &pipelines);
        for (tile_bytes, objective) in
            [(1 << 20, Objective::Fastest), (256, Objective::Fastest), (1024, Objective::Smallest)]
        {
            let compile_options = CompileOptions {
                weights: WeightStorage::Streamed { resident_below: 0, tile_bytes },
                stream_io: StreamedIo::BOTH,
                weight_format,
                objective,
                ..options(&gpu, TexelFormat::Rgba8Uint)
            };
            let compiled = compile(&graph, &compile_options, &SearchControl::new()).unwrap();
            assert!(!compiled.schedule().streamed().is_empty());
            let found = run(&gpu, compiled, true, &pipelines);
            assert!(found == expected, "{weight_format:?} in tiles of {tile_bytes}, {objective:?}");
        }
    }
}

/// Every step stores the values that it computed.
#[test]
fn every_step_has_the_values_of_floats() {
    let gpu = open();
    let graph = network();
    let [x, gain] = inputs();
    let steps = [TexelFormat::Rgba32Float, TexelFormat::Rgba8Uint].map(|format| {
        let compiled = naive(&graph, &options(&gpu, format));
        let mut session = Executor::from_compiled(&gpu, compiled, &ExecutorOptions::default()).unwrap();
        let mut steps: Vec<(usize, Vec<f32>)> = Vec::new();
        let seen = |step: usize, values: &[f32]| {
            steps.push((step, values.iter().map(|value| value + 0.0).collect()));
            true
        };
        session.run_stepwise(&[&x, &gain], seen).unwrap();
        // A pool of bytes has more steps, for reshapes of floats. Steps are matched by the tensor that they write.
        let tensor = |step: usize| session.compiled().schedule().steps[step].node;
        let name = |step: usize| {
            session.compiled().graph().tensors[session.compiled().graph().nodes[tensor(step)].output].name.clone()
        };
        steps.into_iter().map(|(step, values)| (name(step), values)).collect::<std::collections::BTreeMap<_, _>>()
    });
    let [floats, bytes] = steps;
    assert!(floats.len() >= 8);
    for (name, values) in floats {
        assert!(bytes[&name] == values, "{name}");
    }
}

/// A network without 8-bit tensors keeps every bit, in four times the texels.
#[test]
fn floats_keep_their_bits() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let blazeface = texpool_model::import::open(models::model("face_detection_short_range.tflite")).unwrap();
    for graph in [branches(), blazeface] {
        let values: Vec<Vec<f32>> = graph
            .inputs
            .iter()
            .map(|&tensor| (0..graph.shape(tensor).len()).map(|i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0).collect())
            .collect();
        let slices: Vec<&[f32]> = values.iter().map(Vec::as_slice).collect();
        let all = [TexelFormat::Rgba32Float, TexelFormat::Rgba8Uint].map(|format| {
            let compiled = compile(&graph, &options(&gpu, format), &SearchControl::new()).unwrap();
            let options = ExecutorOptions { poison: true, pipelines: pipelines.clone(), ..ExecutorOptions::default() };
            bits(&Executor::from_compiled(&gpu, compiled, &options).unwrap().run(&slices).unwrap())
        });
        assert_eq!(all[0], all[1], "{}", graph.name);
    }
    // Values of any bits.
    let mut b = GraphBuilder::new("negated");
    let x = b.input("x", &[1, 2, 3, 5]).unwrap();
    let y = b.unary("y", Unary::Neg, x).unwrap();
    let graph = b.finish(&[y]).unwrap();
    let x: Vec<f32> = [f32::NAN, f32::INFINITY, -0.0, f32::MIN_POSITIVE, f32::MAX, 1.0e-45].repeat(5);
    let mut session = Executor::new(
        &gpu,
        &graph,
        &ExecutorOptions { compile: options(&gpu, TexelFormat::Rgba8Uint), ..Default::default() },
    )
    .unwrap();
    let found = &session.run(&[&x]).unwrap()[0];
    for (found, x) in found.iter().zip(&x).filter(|(_, x)| !x.is_subnormal()) {
        assert!(found.to_bits() == (-x).to_bits() || found.is_nan() && x.is_nan(), "{found} for {x}");
    }
}

/// A texture of the caller holds an 8-bit input's integers, 128 more if they are signed.
#[test]
fn textures_of_the_caller_hold_integers() {
    let gpu = open();
    let graph = network();
    let compiled = compile(&graph, &options(&gpu, TexelFormat::Rgba8Uint), &SearchControl::new()).unwrap();
    let limit = gpu.device.limits().max_texture_dimension_2d;
    let [x, gain] = inputs();
    let mut session = Executor::from_compiled(&gpu, compiled.clone(), &ExecutorOptions::default()).unwrap();
    let expected = session.run(&[&x, &gain]).unwrap();
    let mut textures = TextureSet::new(&gpu);
    for (index, values) in [&x, &gain].into_iter().enumerate() {
        let tensor = &compiled.graph().tensors[compiled.graph().inputs[index]];
        let layout = TextureLayout::new(tensor, TexelFormat::Rgba8Uint, limit);
        assert_eq!(layout.format, wgpu::TextureFormat::Rgba8Uint);
        let bytes = layout.pack(values).unwrap();
        assert_eq!(layout.unpack(&bytes).unwrap(), *values);
        if index == 0 {
            let (column, row, lane) = layout.position(&[0, 2, 7, 4]).unwrap();
            let byte = bytes[((row * layout.width + column) * 4 + lane) as usize];
            let integer = (values[(2 * WIDTH + 7) * 5 + 4] / 0.05).round() as i32 + 3;
            assert_eq!(i32::from(byte), integer + 128);
        }
        let spec = texpool_compile::io_texture(tensor, TexelFormat::Rgba8Uint, limit);
        let texture = textures.create("caller's", spec, Role::Shared).unwrap();
        let texels: Vec<[f32; 4]> = bytes.as_chunks::<4>().0.iter().map(|texel| texel.map(f32::from)).collect();
        textures.write_rows(texture, 0, &texels).unwrap();
        session.bind_texture(TensorRole::Input, index, textures.texture(texture)).unwrap();
    }
    assert_eq!(session.run(&[] as &[&[f32]]).unwrap(), expected);
}

/// Integers of the caller arrive and return as they are; floats beyond them are counted.
#[test]
fn integers_go_in_and_out() {
    let gpu = open();
    let context = Context::from_wgpu(gpu.device.clone(), gpu.queue.clone()).unwrap();
    let mut b = GraphBuilder::new("kept");
    let x = b.input("x", &[1, 1, 64, 4]).unwrap();
    let y = b.pool("y", Pool2d::plain(PoolKind::Max, [1; 2], [1; 2], Padding::default()), x).unwrap();
    let mut graph = b.finish(&[y]).unwrap();
    for tensor in [x, y] {
        graph.tensors[tensor].element_type = ElementType::U8;
        graph.tensors[tensor].quantization = Some(Quantization { scale: 0.3, zero_point: 77 });
    }
    let model = Model::from_graph(graph).unwrap();
    let all: Vec<u8> = (0..=255).collect();
    let mut session = context.compile(&model).texels(TexelFormat::Rgba8Uint).build().unwrap().session().unwrap();
    let mut outputs = session.run([("x", TensorView::from(&all))]).unwrap();
    assert_eq!(outputs.take("y").unwrap().into_vec::<u8>().unwrap(), all);
    assert!(session.warnings().unwrap().is_empty());
    let beyond: Vec<f32> = (0..256).map(|i| if i < 2 { 1e3 } else { 0.0 }).collect();
    session.run([("x", TensorView::from(&beyond))]).unwrap();
    assert_eq!(session.warnings().unwrap().count(texpool::Clamp::Saturated), 2);
}

/// A real network, quantised by its authors.
#[test]
fn inception_has_the_values_of_floats_in_a_quarter_of_the_pool() {
    let gpu = open();
    let case = zoo::case("inception_v3");
    let graph = case.graph().unwrap();
    let found = [TexelFormat::Rgba32Float, TexelFormat::Rgba8Uint].map(|format| {
        let compiled = compile(&graph, &options(&gpu, format), &SearchControl::new()).unwrap();
        let pool = compiled.plan().bytes();
        let mut session = Executor::from_compiled(&gpu, compiled, &ExecutorOptions::default()).unwrap();
        let mut outputs = session.run(&case.inputs(&graph)).unwrap();
        outputs.iter_mut().flatten().for_each(|value| *value += 0.0);
        (pool, outputs)
    });
    let [(floats, expected), (bytes, found)] = found;
    assert!(found == expected);
    assert!(bytes * 39 <= floats * 10, "{bytes} bytes, and {floats} with floats");
}

/// Shapes of the tensors of a network are the same in every format; only their texels differ.
#[test]
fn a_row_of_floats_has_four_planes() {
    let gpu = open();
    let compiled = naive(&network(), &options(&gpu, TexelFormat::Rgba8Uint));
    let tensor = compiled.graph().tensors.iter().find(|tensor| tensor.name == "gained").unwrap();
    assert_eq!((tensor.shape, tensor.row_texels()), (Shape::new(1, HEIGHT, WIDTH, 5), 4 * 2 * WIDTH));
}
