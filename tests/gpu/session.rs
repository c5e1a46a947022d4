//! A small network on the device against its CPU reference, under every strategy, with and without poison.

use texpool_compile::{CompileOptions, io_texture};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, Role, SharedPipelines, TensorRole, TextureSet};
use texpool_model::rewrite::Rules;
use texpool_ops::{
    graph::{Act, Binary, Conv2d, Graph, GraphBuilder, Op, Padding, Unary},
    ops::reference,
};
use texpool_plan::{Planner, Strategy, TexelFormat};

use crate::support::{every_plan, open};

fn noise(seed: u32, len: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

fn conv(stride: usize, dilation: usize, pad: usize, groups: usize) -> Conv2d {
    let padding = Padding { top: pad, bottom: pad, left: pad, right: pad };
    Conv2d { stride: [stride; 2], dilation: [dilation; 2], padding, groups }
}

/// Odd sizes, a residual, a group convolution, a depthwise convolution with two outputs per input, and a dense layer
/// over a map.
fn network() -> Graph {
    let mut b = GraphBuilder::new("net");
    let mut seed = 0;
    let mut weight = |b: &mut GraphBuilder, dims: &[usize]| {
        seed += 1;
        let len: usize = dims.iter().product();
        let scale = (dims[1..].iter().product::<usize>() as f32).sqrt().recip();
        let values: Vec<f32> = noise(seed, len).iter().map(|v| v * scale * 2.0).collect();
        b.constant("w", dims, &values).unwrap()
    };
    let relu = Act::Unary(Unary::Relu);
    let x = b.input("x", &[1, 19, 23, 3]).unwrap();
    let (w, bias) = (weight(&mut b, &[10, 5, 5, 3]), weight(&mut b, &[10, 1]));
    let a = b.conv2d("stem", conv(2, 1, 2, 1), x, w, Some(bias), relu).unwrap();
    let w = weight(&mut b, &[1, 3, 3, 10]);
    let d = b.depthwise("dw", conv(1, 1, 1, 1), a, w, Some(bias), Act::None).unwrap();
    let w = weight(&mut b, &[10, 1, 1, 10]);
    let p = b.conv2d("pw", conv(1, 1, 0, 1), d, w, None, Act::None).unwrap();
    let s = b.node("add", Op::Binary(Binary::Add), &[p, a], relu).unwrap();
    let w = weight(&mut b, &[16, 3, 3, 5]);
    let g = b.conv2d("group", conv(1, 2, 2, 2), s, w, None, Act::Unary(Unary::Logistic)).unwrap();
    let w = weight(&mut b, &[1, 3, 3, 32]);
    let m = b.depthwise("multiplied", conv(2, 1, 1, 1), g, w, None, Act::Unary(Unary::HardSwish)).unwrap();
    let w = weight(&mut b, &[7, 5 * 6 * 32]);
    let f = b.fully_connected("dense", m, w, None, Act::None).unwrap();
    b.finish(&[f, s]).unwrap()
}

fn run(gpu: &Gpu, graph: &Graph, options: &ExecutorOptions) -> Vec<Vec<f32>> {
    run_twice(Executor::new(gpu, graph, options).unwrap())
}

fn run_twice(mut session: Executor) -> Vec<Vec<f32>> {
    let graph = session.compiled().graph();
    let input = noise(99, graph.shape(graph.inputs[0]).len());
    let first = session.run(&[&input]).unwrap();
    let second = session.run(&[&input]).unwrap();
    assert_eq!(first, second, "two runs of a session differ");
    first
}

fn options(format: TexelFormat, planner: Planner, rules: Rules, poison: bool) -> ExecutorOptions {
    ExecutorOptions {
        compile: CompileOptions { format, planner, rules, ..CompileOptions::default() },
        poison,
        ..ExecutorOptions::default()
    }
}

#[test]
fn a_network_equals_its_reference_under_every_strategy() {
    let gpu = open();
    let graph = network();
    let values = reference::graph(&graph, &[noise(99, graph.shape(graph.inputs[0]).len())]).unwrap();
    // Plans share kernels, which software devices take longer to compile than to run.
    let pipelines = SharedPipelines::default();
    let options = |format, planner, rules, poison| ExecutorOptions {
        pipelines: pipelines.clone(),
        ..options(format, planner, rules, poison)
    };
    for (format, tolerance) in
        [(TexelFormat::Rgba32Float, 1e-5), (TexelFormat::Rgba16Float, 5e-3), (TexelFormat::Rgba8Uint, 1e-5)]
    {
        for rules in [Rules::none(), Rules::all()] {
            let base = run(&gpu, &graph, &options(format, Planner::Strategy(Strategy::Naive), rules, false));
            for (&tensor, actual) in graph.outputs.iter().zip(&base) {
                let expected = values[tensor].as_ref().unwrap();
                let largest = expected.iter().fold(0f32, |m, v| m.max(v.abs()));
                for (i, (e, f)) in expected.iter().zip(actual).enumerate() {
                    assert!((e - f).abs() <= tolerance * largest, "tensor {tensor} [{i}]: {e} on the CPU, {f} here");
                }
            }
            for (planner, compiled) in every_plan(&graph, &options(format, Planner::Best, rules, false).compile) {
                for poison in [false, true] {
                    let options = options(format, planner, rules, poison);
                    let session = Executor::from_compiled(&gpu, compiled.clone(), &options).unwrap();
                    assert_eq!(base, run_twice(session), "{planner}, poison {poison}, {format:?}");
                }
            }
        }
    }
}

#[test]
fn textures_of_the_callers_are_read_and_written_in_place() {
    let gpu = open();
    let graph = network();
    let options = ExecutorOptions::default();
    let expected = run(&gpu, &graph, &options);

    // The caller's input: channels packed by hand, three to a texel.
    let shape = graph.shape(graph.inputs[0]);
    let limit = gpu.device.limits().max_texture_dimension_2d;
    let mut textures = TextureSet::new(&gpu);
    let input = textures
        .create("in", io_texture(&graph.tensors[graph.inputs[0]], TexelFormat::Rgba32Float, limit), Role::Shared)
        .unwrap();
    let texels: Vec<[f32; 4]> = noise(99, shape.len()).chunks(3).map(|c| [c[0], c[1], c[2], 0.0]).collect();
    textures.write_rows(input, 0, &texels).unwrap();
    let out_shape = graph.shape(graph.outputs[1]);
    let spec = io_texture(&graph.tensors[graph.outputs[1]], TexelFormat::Rgba32Float, limit);
    let output = textures.create("out", spec, Role::Shared).unwrap();
    let mut session = Executor::new(&gpu, &graph, &options).unwrap();
    session.bind_texture(TensorRole::Input, 0, textures.texture(input)).unwrap();
    session.bind_texture(TensorRole::Output, 1, textures.texture(output)).unwrap();
    let outputs = session.run(&[] as &[&[f32]]).unwrap();
    assert_eq!(outputs, expected[..1]);

    let texels = textures.read(output).unwrap();
    for (i, &value) in expected[1].iter().enumerate() {
        let (pixel, c) = (i / out_shape.c, i % out_shape.c);
        let texel = pixel / out_shape.w * out_shape.row_texels() + c / 4 * out_shape.w + pixel % out_shape.w;
        assert_eq!(texels[texel][c % 4], value, "element {i}");
    }
}

/// A mask with the most negative 32-bit number, times zero at unmasked positions, is zero in 16 bits, too. Computed
/// values beyond the 16-bit range are stored as its greatest number by every driver.
#[test]
fn finite_values_stay_finite_in_16_bits() {
    let mut b = GraphBuilder::new("mask");
    let x = b.input("x", &[1, 1, 2, 4]).unwrap();
    let mask = b.constant("mask", &[1, 1, 1, 4], &[f32::MIN, f32::MAX, 1.0, 2.0]).unwrap();
    let y = b.binary("y", Binary::Mul, x, mask, Act::None).unwrap();
    let graph = b.finish(&[y]).unwrap();
    let compile = CompileOptions { format: TexelFormat::Rgba16Float, ..CompileOptions::default() };
    let options = ExecutorOptions { compile, ..ExecutorOptions::default() };
    let mut session = Executor::new(&open(), &graph, &options).unwrap();
    let outputs = session.run(&[&[0.0, 0.0, 1e9, 0.5, -1.0, 1.0, -1e9, 6e4]]).unwrap();
    assert_eq!(outputs[0], [0.0, 0.0, 65504.0, 1.0, 65504.0, 65504.0, -65504.0, 65504.0]);
}
