//! Patches of columns give the bits of the undivided layers on the device, in pools of floats and of bytes, with rows
//! poisoned as they die.

use texpool_compile::{CompileOptions, Objective, StreamedIo, Tiling, WeightStorage, compile};
use texpool_gpu::SharedPipelines;
use texpool_model::rewrite::{Patches, Rules, patch_ends, patched, rewrite};
use texpool_ops::graph::{
    Act, Binary, Conv2d, DepthwiseConv2d, Graph, GraphBuilder, Op, Padding, Pool2d, PoolKind, TensorId, Unary,
};
use texpool_plan::{SearchControl, TexelFormat};

use crate::{
    in_place::{numbers, run},
    support::open,
};

fn window(taps: usize, stride: usize) -> Conv2d {
    let half = taps / 2;
    let padding = Padding { top: half, bottom: half, left: half, right: half };
    Conv2d { stride: [stride; 2], dilation: [1; 2], padding, groups: 1 }
}

fn conv(b: &mut GraphBuilder, x: TensorId, [to, taps, stride, from]: [usize; 4]) -> TensorId {
    let weights = b.constant("w", &[to, taps, taps, from], &numbers(to * taps * taps * from)).unwrap();
    b.conv2d("conv", window(taps, stride), x, weights, None, Act::Unary(Unary::Relu6)).unwrap()
}

fn depthwise(b: &mut GraphBuilder, x: TensorId, channels: usize) -> TensorId {
    let weights = b.constant("w", &[1, 3, 3, channels], &numbers(9 * channels)).unwrap();
    b.node("depthwise", DepthwiseConv2d(window(3, 1)).into(), &[x, weights], Act::None).unwrap()
}

/// Wide maps of many channels that end in small ones: an inverted residual, pools with and without a border, and a sum
/// with a part of an input.
fn network() -> Graph {
    let mut b = GraphBuilder::new("narrowing");
    let x = b.input("x", &[1, 24, 30, 3]).unwrap();
    let first = conv(&mut b, x, [16, 3, 1, 3]);
    let wide = conv(&mut b, first, [32, 1, 1, 16]);
    let wide = depthwise(&mut b, wide, 32);
    let narrow = conv(&mut b, wide, [16, 1, 1, 32]);
    let residual = b.binary("residual", Binary::Add, narrow, first, Act::None).unwrap();
    let padding = Padding { top: 1, left: 1, ..Padding::default() };
    let pooled = b.pool("max", Pool2d::plain(PoolKind::Max, [3, 3], [2, 2], padding), residual).unwrap();
    let second = conv(&mut b, pooled, [8, 5, 1, 16]);
    let mean = Pool2d::plain(PoolKind::Average, [2, 2], [2, 2], Padding::default());
    let small = b.pool("mean", mean, second).unwrap();
    let last = conv(&mut b, small, [4, 3, 1, 8]);
    b.finish(&[last]).unwrap()
}

#[test]
fn patches_give_the_bits_of_undivided_layers() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let (graph, input) = (network(), numbers(24 * 30 * 3));
    let rules = Rules::default();
    let rewritten = rewrite(&graph, &rules);
    let &end = patch_ends(&rewritten.graph).last().unwrap();
    let divided = patched(&rewritten, &rules, Patches { end, parts: 2 }).unwrap().graph;
    assert!(divided.nodes.iter().any(|node| matches!(node.op, Op::StridedSlice(_))));
    for format in [TexelFormat::Rgba32Float, TexelFormat::Rgba8Uint] {
        let plain = CompileOptions { format, limits: gpu.texture_limits(), ..CompileOptions::default() };
        let bits = |graph: &Graph, options: &CompileOptions| {
            let compiled = compile(graph, options, &SearchControl::new()).unwrap();
            run(&gpu, compiled, &pipelines, &input)
        };
        let expected = bits(&graph, &plain);
        let smallest = CompileOptions { objective: Objective::Smallest, ..plain };
        let weights = WeightStorage::Streamed { resident_below: 0, tile_bytes: 1 << 10 };
        let streamed = CompileOptions { weights, stream_io: StreamedIo::BOTH, ..smallest.clone() };
        for options in [&smallest, &streamed] {
            assert_eq!(bits(&divided, options), expected, "{format:?} {:?}", options.weights);
        }
    }
    let limits = gpu.texture_limits();
    let options = CompileOptions { objective: Objective::Smallest, limits, ..CompileOptions::default() };
    let searched = CompileOptions { tiling: Tiling::Patches, ..options.clone() };
    let [rows, patches] = [&options, &searched].map(|options| compile(&graph, options, &SearchControl::new()).unwrap());
    assert!(patches.patches().is_some() && patches.plan().bytes() < rows.plan().bytes());
    let [rows, patches] = [rows, patches].map(|compiled| run(&gpu, compiled, &pipelines, &input));
    assert_eq!(patches, rows);
}
