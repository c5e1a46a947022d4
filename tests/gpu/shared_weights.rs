//! Weights that several nodes read are packed, stored and counted once, and the answers are those of separate weights.

use texpool::WeightFormat;
use texpool_compile::{CompileOptions, CompiledModel, Objective, StreamedIo, WeightStorage, compile};
use texpool_gpu::{Executor, ExecutorOptions, Gpu};
use texpool_model::rewrite::Rules;
use texpool_ops::graph::{
    Act, Binary, Conv2d, Graph, GraphBuilder, Padding, Pool2d, PoolKind, TensorId, TransposeConv, Unary,
};
use texpool_plan::{SearchControl, TexelFormat};

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

pub(crate) fn values() -> Vec<f32> {
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
        let weight_bytes = session.memory().planned.weights;
        assert!(
            (copies * TEXELS * 16..copies * TEXELS * 16 + (16 << 10)).contains(&weight_bytes),
            "{weight_bytes} for {factors:?}"
        );
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

/// A detector's head uses the same weights at every level, whatever the level's height and width are. A bias of its own
/// is stored beside them.
#[test]
fn levels_of_other_extents_share_and_biases_are_stored_beside() {
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
    assert_eq!(compiled.resident_weight_bytes(), (TEXELS + BIAS) * 16);
}

/// Texels of a bias.
const BIAS: u64 = CHANNELS as u64 / 4;

/// Eight convolutions of one weight, each with a bias, a stride and an activation of its own; or those of `which`.
pub(crate) fn branches(which: impl IntoIterator<Item = usize>) -> Graph {
    let mut b = GraphBuilder::new("branches");
    let x = b.input("x", &[1, 6, 6, CHANNELS]).unwrap();
    let w = constant(&mut b, 0.1);
    let acts = [Act::None, Act::Unary(Unary::Relu), Act::Unary(Unary::Relu6), Act::Unary(Unary::Tanh)];
    let one = |i: usize| {
        let values = |factor: f32| -> Vec<f32> { (0..CHANNELS).map(|c| (c + 3 * i) as f32 * factor - 0.2).collect() };
        let bias = b.constant("bias", &[CHANNELS], &values(0.03)).unwrap();
        let conv = Conv2d { stride: [1 + i % 2, 1 + i / 2 % 2], ..WINDOW };
        let act = match i {
            7 => Act::Prelu(b.constant("alphas", &[CHANNELS], &values(0.01)).unwrap()),
            _ => acts[i % 4],
        };
        b.conv2d("conv", conv, x, w, Some(bias), act).unwrap()
    };
    let outputs: Vec<TensorId> = which.into_iter().map(one).collect();
    b.finish(&outputs).unwrap()
}

fn outputs(gpu: &Gpu, graph: &Graph, options: CompileOptions) -> (Vec<Vec<f32>>, CompiledModel) {
    let compiled = compiled(gpu, graph, options);
    let mut session = Executor::from_compiled(gpu, compiled.clone(), &ExecutorOptions::default()).unwrap();
    (session.run(&[&values()]).unwrap(), compiled)
}

/// The bias, stride and activation of an operator do not matter: the weights are stored once, however the model is
/// planned, and each answer is that of the operator alone.
#[test]
fn operators_with_biases_of_their_own_share_weights() {
    let gpu = open();
    let graph = branches(0..8);
    let shared = TEXELS - BIAS + 8 * BIAS + BIAS;
    let halved = CompileOptions { format: TexelFormat::Rgba16Float, ..CompileOptions::default() };
    for options in [
        CompileOptions::default(),
        CompileOptions { objective: Objective::Smallest, ..CompileOptions::default() },
        halved,
    ] {
        let (together, compiled) = outputs(&gpu, &graph, options.clone());
        assert_eq!(compiled.resident_weight_bytes(), shared * options.format.texel_bytes(), "{options:?}");
        for (i, output) in together.into_iter().enumerate() {
            let (alone, _) = outputs(&gpu, &branches([i]), options.clone());
            assert_eq!(bits(&[output]), bits(&alone), "{i}: {options:?}");
        }
    }
}

/// A budget that holds the weights once needs no streaming.
#[test]
fn a_budget_counts_shared_weights_once() {
    let gpu = open();
    let graph = branches(0..8);
    let whole = compiled(&gpu, &graph, CompileOptions::default()).device_bytes();
    let options = CompileOptions { objective: Objective::Device(whole), ..CompileOptions::default() };
    let (_, within) = outputs(&gpu, &graph, options);
    assert!(within.device_bytes() <= whole);
    assert!(within.schedule().streamed().is_empty() && within.tiled().is_none());
}

/// Weights of fewer bits and weights that are uploaded in every run are shared with the same answers.
#[test]
fn words_and_uploads_of_shared_weights_are_those_of_separate_ones() {
    let gpu = open();
    let streamed = CompileOptions {
        weights: WeightStorage::Streamed { resident_below: 0, tile_bytes: 4 << 10 },
        ..CompileOptions::default()
    };
    let words = |weight_format| CompileOptions { weight_format, ..CompileOptions::default() };
    let both = CompileOptions { weight_format: WeightFormat::Int8, ..streamed.clone() };
    for options in [streamed, words(WeightFormat::F16), words(WeightFormat::Int8), both] {
        let (together, compiled) = outputs(&gpu, &branches(0..8), options.clone());
        let mut bytes_alone = 0;
        for (i, output) in together.into_iter().enumerate() {
            let (alone, one) = outputs(&gpu, &branches([i]), options.clone());
            bytes_alone += one.resident_weight_bytes();
            assert_eq!(bits(&[output]), bits(&alone), "{i}: {options:?}");
        }
        assert!(bytes_alone == 0 || compiled.resident_weight_bytes() * 3 < bytes_alone, "{options:?}");
    }
}

/// A pointwise and a transposed convolution and dense layers read the same layout of a matrix.
#[test]
fn other_operators_share_weights_of_the_same_layout() {
    let gpu = open();
    let built = |which: &[usize]| {
        let mut b = GraphBuilder::new("mixed");
        let x = b.input("x", &[1, 6, 6, CHANNELS]).unwrap();
        let matrix: Vec<f32> = (0..CHANNELS * CHANNELS).map(|i| (i as f32 * 0.618_034).fract() - 0.5).collect();
        let window = b.constant("window", &[CHANNELS, 1, 1, CHANNELS], &matrix).unwrap();
        let dense = b.constant("dense", &[CHANNELS, CHANNELS], &matrix).unwrap();
        let point = Conv2d { padding: Padding::default(), ..WINDOW };
        let transposed = TransposeConv { stride: [2, 2], dilation: [1, 1], padding: Padding::default(), groups: 1 };
        let one = |i: usize| {
            let bias = b.constant("bias", &[CHANNELS], &[i as f32 * 0.25; CHANNELS]).unwrap();
            match i {
                0 => b.conv2d("pointwise", point, x, window, Some(bias), Act::None),
                1 => b.conv2d("strided", Conv2d { stride: [2, 1], ..point }, x, window, Some(bias), Act::None),
                2 => b.transpose_conv("transposed", transposed, [x, window], Some(bias), [11, 11]),
                _ => b.fully_connected("dense", x, dense, Some(bias), Act::None),
            }
        };
        let outputs: Vec<TensorId> = which.iter().copied().map(one).map(Result::unwrap).collect();
        b.finish(&outputs).unwrap()
    };
    let (together, compiled) = outputs(&gpu, &built(&[0, 1, 2, 3]), CompileOptions::default());
    let (matrix, biases) = (CHANNELS as u64 / 4 * BIAS * 4, 4 * BIAS);
    assert_eq!(compiled.resident_weight_bytes(), (matrix + biases) * 16);
    for (i, output) in together.into_iter().enumerate() {
        assert_eq!(bits(&[output]), bits(&outputs(&gpu, &built(&[i]), CompileOptions::default()).0), "{i}");
    }
}

/// A table that is looked up, and a tensor that is added and multiplied, are whole tensors in one layout.
#[test]
fn whole_tensors_are_stored_once() {
    let mut b = GraphBuilder::new("tensors");
    let x = b.input("x", &[1, 6, 6, CHANNELS]).unwrap();
    let map = b.constant("map", &[1, 6, 6, CHANNELS], &values()).unwrap();
    let sum = b.binary("sum", Binary::Add, x, map, Act::None).unwrap();
    let product = b.binary("product", Binary::Mul, sum, map, Act::Unary(Unary::Relu)).unwrap();
    let alone = b.binary("less", Binary::Sub, map, product, Act::None).unwrap();
    let graph = b.finish(&[alone]).unwrap();
    let options = CompileOptions { rules: Rules::none(), ..CompileOptions::default() };
    let compiled = compiled(&open(), &graph, options);
    assert_eq!(compiled.resident_weight_bytes(), 6 * 6 * BIAS * 16);
}
