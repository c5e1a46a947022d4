//! A small network on the device against its CPU twin, under every strategy, with and without poison.

use texpool::{
    gpu::{Gpu, Session, SessionOptions},
    graph::{Act, Binary, Conv2d, Graph, GraphBuilder, Op, Padding, Unary},
    kernels::twin,
    plan::{Strategy, TexelFormat},
    prepare::PrepareOptions,
    rewrite::Rules,
};

use crate::support::open;

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

/// Odd sizes, a residual, a group convolution, a depthwise one of two outputs an input, and a dense layer over a map.
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

fn run(gpu: &Gpu, graph: &Graph, options: &SessionOptions) -> Vec<Vec<f32>> {
    let mut session = Session::new(gpu, graph, options).unwrap();
    let input = noise(99, graph.shape(graph.inputs[0]).len());
    let first = session.run(&[&input]).unwrap();
    let second = session.run(&[&input]).unwrap();
    assert_eq!(first, second, "two runs of a session differ");
    first
}

fn options(format: TexelFormat, strategy: Option<Strategy>, rules: Rules, poison: bool) -> SessionOptions {
    SessionOptions { prepare: PrepareOptions { format, strategy, rules, ..PrepareOptions::default() }, poison }
}

#[test]
fn a_network_equals_its_twin_under_every_strategy() {
    let gpu = open();
    let graph = network();
    let values = twin::graph(&graph, &[noise(99, graph.shape(graph.inputs[0]).len())]).unwrap();
    for (format, tolerance) in [(TexelFormat::Rgba32Float, 1e-5), (TexelFormat::Rgba16Float, 5e-3)] {
        for rules in [Rules::all()] {
            let base = run(&gpu, &graph, &options(format, Some(Strategy::Naive), rules.clone(), false));
            for (&tensor, found) in graph.outputs.iter().zip(&base) {
                let expected = values[tensor].as_ref().unwrap();
                let largest = expected.iter().fold(0f32, |m, v| m.max(v.abs()));
                for (i, (e, f)) in expected.iter().zip(found).enumerate() {
                    assert!((e - f).abs() <= tolerance * largest, "tensor {tensor} [{i}]: {e} on the CPU, {f} here");
                }
            }
            for strategy in Strategy::ALL.iter().copied().map(Some).chain([None]) {
                for poison in [false, true] {
                    let other = run(&gpu, &graph, &options(format, strategy, rules.clone(), poison));
                    assert_eq!(base, other, "{strategy:?}, poison {poison}, {format:?}");
                }
            }
        }
    }
}
