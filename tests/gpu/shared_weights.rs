//! Weights that several nodes read are packed, stored and counted once, and the answers are those of separate weights.

use texpool::{
    WeightFormat,
    compile::{CompileOptions, CompiledModel, StreamedIo, WeightStorage, compile},
    gpu::{Executor, ExecutorOptions, Gpu},
    graph::{Act, Conv2d, Graph, GraphBuilder, Padding, Pool2d, PoolKind, TensorId, Unary},
    plan::SearchControl,
};

use crate::support::{hash::bits, open};

const WINDOW: Conv2d =
    Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding { top: 1, bottom: 1, left: 1, right: 1 }, groups: 1 };
const HALVED: Pool2d = Pool2d {
    kind: PoolKind::Max,
    window: [2, 2],
    stride: [2, 2],
    dilation: [1, 1],
    padding: Padding { top: 0, bottom: 0, left: 0, right: 0 },
    counted: None,
};
const CHANNELS: usize = 32;
/// Texels for 8 slices of the result: four each for 9 taps and 8 slices of the operand, and a bias.
const TEXELS: u64 = (9 * 8 * 4 + 1) * 8;

fn constant(b: &mut GraphBuilder, factor: f32) -> TensorId {
    let value = |i: usize| ((i as f32 * 0.618_034).fract() - 0.5) * factor;
    let values: Vec<f32> = (0..CHANNELS * 9 * CHANNELS).map(value).collect();
    b.constant("w", &[CHANNELS, 3, 3, CHANNELS], &values).unwrap()
}

/// Consecutive convolutions with the weights of `factors`, each with a new constant.
fn chain(factors: &[f32]) -> Graph {
    let mut b = GraphBuilder::new("chain");
    let mut y = b.input("x", &[1, 6, 6, CHANNELS]).unwrap();
    for &factor in factors {
        let w = constant(&mut b, factor);
        y = b.conv2d("conv", WINDOW, y, w, None, Act::Unary(Unary::Relu)).unwrap();
    }
    b.finish(&[y]).unwrap()
}

fn compiled(gpu: &Gpu, graph: &Graph, options: CompileOptions) -> CompiledModel {
    let options = CompileOptions { limits: gpu.texture_limits(), ..options };
    compile(graph, &options, &SearchControl::new()).unwrap()
}

fn run(gpu: &Gpu, graph: &Graph, options: CompileOptions, values: &[f32]) -> Vec<f32> {
    let compiled = compiled(gpu, graph, options);
    Executor::from_compiled(gpu, compiled, &ExecutorOptions::default()).unwrap().run(&[values]).unwrap().remove(0)
}

fn values() -> Vec<f32> {
    (0..6 * 6 * CHANNELS).map(|i| (i as f32 * 0.414_214).fract()).collect()
}

#[test]
fn equal_weights_are_stored_once() {
    let gpu = open();
    for (factors, copies) in [(&[0.1, 0.1, 0.1, 0.1][..], 1), (&[0.1, 0.2, 0.1, 0.2], 2), (&[0.1, 0.2, 0.3], 3)] {
        let compiled = compiled(&gpu, &chain(factors), CompileOptions::default());
        assert_eq!(compiled.resident_weight_bytes(), copies * TEXELS * 16, "{factors:?}");
        let session = Executor::from_compiled(&gpu, compiled, &ExecutorOptions::default()).unwrap();
        // A texture has whole rows, so its size is rounded up.
        let held = session.memory().planned.weights;
        assert!((copies * TEXELS * 16..copies * TEXELS * 16 + (16 << 10)).contains(&held), "{held} for {factors:?}");
    }
}

/// Running each convolution separately, with unshared weights, gives the same bits.
#[test]
fn answers_are_those_of_separate_weights() {
    let gpu = open();
    let factors = [0.1, 0.2, 0.1, 0.1, 0.2];
    let streamed = CompileOptions {
        weights: WeightStorage::Streamed { resident_below: 0, tile_bytes: 16 << 10 },
        stream_io: StreamedIo { inputs: true, outputs: true },
        ..CompileOptions::default()
    };
    let int8 = CompileOptions { weight_format: WeightFormat::Int8, ..CompileOptions::default() };
    for options in [CompileOptions::default(), streamed, int8] {
        let one = |values: Vec<f32>, factor: &f32| run(&gpu, &chain(&[*factor]), options.clone(), &values);
        let separate = factors.iter().fold(values(), one);
        assert_eq!(bits(&[run(&gpu, &chain(&factors), options.clone(), &values())]), bits(&[separate]), "{options:?}");
    }
}

/// A detector's head uses the same weights at every level, whatever the level's height and width are. A different
/// bias needs separate weights.
#[test]
fn levels_of_other_extents_share_and_other_biases_do_not() {
    let mut b = GraphBuilder::new("levels");
    let x = b.input("x", &[1, 8, 8, CHANNELS]).unwrap();
    let small = b.pool("half", HALVED, x).unwrap();
    let w = constant(&mut b, 0.1);
    let bias = b.constant("bias", &[CHANNELS], &[0.5; CHANNELS]).unwrap();
    let large = b.conv2d("large", WINDOW, x, w, None, Act::None).unwrap();
    let head = b.conv2d("small", WINDOW, small, w, None, Act::None).unwrap();
    let biased = b.conv2d("biased", WINDOW, small, w, Some(bias), Act::None).unwrap();
    let graph = b.finish(&[large, head, biased]).unwrap();
    let compiled = compiled(&open(), &graph, CompileOptions::default());
    assert_eq!(compiled.resident_weight_bytes(), 2 * TEXELS * 16);
}
