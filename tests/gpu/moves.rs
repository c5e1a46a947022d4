//! A network that looks up, pads, repeats and resamples, and an attention, against their CPU references under every
//! strategy.

use texpool_compile::{CompileOptions, Objective, compile};
use texpool_gpu::{Executor, ExecutorOptions, SharedPipelines};
use texpool_model::rewrite::Rules;
use texpool_ops::{
    graph::{
        Act, CoordMode, DepthOrder, DepthToSpace, Gather, Graph, GraphBuilder, MatMul, Op, Pad, PadMode, Padding,
        Pool2d, PoolKind, ResizeMode, Rounding, Softmax, TensorId, Transpose,
    },
    ops::reference,
};
use texpool_plan::SearchControl;

use crate::support::{every_plan, open};

const WORDS: usize = 300;

/// An embedding of nine tokens, followed by operators that move values.
pub(crate) fn network() -> Graph {
    let mut b = GraphBuilder::new("moves");
    let tokens = b.input("tokens", &[1, 1, 1, 9]).unwrap();
    let values: Vec<f32> = (0..WORDS * 10).map(|i| (i as f32 * 0.37).sin()).collect();
    let table = b.constant("table", &[1, 1, WORDS, 10], &values).unwrap();
    let node = |b: &mut GraphBuilder, op: Op, inputs: &[TensorId]| b.node("n", op, inputs, Act::None).unwrap();
    let words = node(&mut b, Op::Gather(Gather { axis: 2 }), &[table, tokens]);
    let image = b.reshape("image", words, &[1, 3, 3, 10]).unwrap();
    let (before, after) = ([0, 2, 1, 0], [0, 1, 2, 0]);
    let padded = node(&mut b, Op::Pad(Pad { before, after, mode: PadMode::Reflect }), &[image]);
    let tiled = b.node_to("tiled", Op::Tile, &[padded], &[1, 12, 6, 10], Act::None).unwrap();
    let pool = Pool2d {
        kind: PoolKind::Average,
        window: [3, 2],
        stride: [1, 1],
        dilation: [2, 1],
        padding: Padding { top: 2, bottom: 2, left: 0, right: 1 },
        counted: Some(Padding { top: 2, ..Padding::default() }),
    };
    let pooled = b.pool("pooled", pool, tiled).unwrap();
    let cubic = ResizeMode::Cubic { a: -0.75, exclude_outside: false };
    let large = b.resize("large", cubic, CoordMode::HalfPixel, pooled, [19, 11]).unwrap();
    let rows = b.constant("rows", &[1, 1, 1, 4], &[-1.0, 3.0, 3.0, 16.0]).unwrap();
    let some = node(&mut b, Op::Gather(Gather { axis: 1 }), &[large, rows]);
    let nearest = ResizeMode::Nearest(Rounding::PreferFloor);
    let small = b.resize("small", nearest, CoordMode::HalfPixelSymmetric, some, [2, 5]).unwrap();
    let picked = node(&mut b, Op::Gather(Gather { axis: 3 }), &[small, tokens]);
    let cut = Op::Pad(Pad { before: [0, 0, -1, -1], after: [0; 4], mode: PadMode::Edge });
    let even = node(&mut b, cut, &[picked]);
    let wide = node(&mut b, Op::DepthToSpace(DepthToSpace { block: [2, 2], order: DepthOrder::Crd }), &[even]);
    b.finish(&[wide, large]).unwrap()
}

/// An attention of three heads of eight channels over five tokens: heads are divided and joined without a step.
fn attention() -> Graph {
    let mut b = GraphBuilder::new("attention");
    let tokens = b.input("tokens", &[1, 1, 5, 24]).unwrap();
    let node = |b: &mut GraphBuilder, op: Op, inputs: &[TensorId]| b.node("n", op, inputs, Act::None).unwrap();
    let layer = |b: &mut GraphBuilder, x: TensorId, seed: usize| {
        let values: Vec<f32> = (0..24 * 24).map(|i| ((i + seed) as f32 * 0.71).sin() * 0.3).collect();
        let weights = b.constant("weights", &[24, 24], &values).unwrap();
        b.node_to("layer", Op::FullyConnected, &[x, weights], &[1, 1, 5, 24], Act::None).unwrap()
    };
    let heads = |b: &mut GraphBuilder, x: TensorId, perm: [usize; 4]| {
        let parts = b.reshape("parts", x, &[5, 1, 3, 8]).unwrap();
        node(b, Op::Transpose(Transpose { perm }), &[parts])
    };
    let [query, key, value] = [1, 2, 3].map(|seed| layer(&mut b, tokens, seed));
    let query = heads(&mut b, query, [1, 2, 0, 3]);
    let key = heads(&mut b, key, [1, 2, 3, 0]);
    let value = heads(&mut b, value, [1, 2, 0, 3]);
    let scores = node(&mut b, MatMul { transpose_b: false }.into(), &[query, key]);
    let shares = node(&mut b, Softmax { beta: 0.5, log: false }.into(), &[scores]);
    let seen = node(&mut b, MatMul { transpose_b: false }.into(), &[shares, value]);
    let by_token = node(&mut b, Op::Transpose(Transpose { perm: [2, 0, 1, 3] }), &[seen]);
    let joined = b.reshape("joined", by_token, &[1, 1, 5, 24]).unwrap();
    let answer = layer(&mut b, joined, 4);
    b.finish(&[answer, seen]).unwrap()
}

#[test]
fn an_attention_agrees_with_its_reference_under_every_plan() {
    let graph = attention();
    let tokens: Vec<f32> = (0..5 * 24).map(|i| (i as f32 * 0.53).cos()).collect();
    let compiled = compile(&graph, &CompileOptions::default(), &SearchControl::new()).unwrap();
    assert_eq!(compiled.schedule().steps.len(), 7, "four layers, two products and a softmax");
    agrees_under_every_plan(&graph, &tokens, 1e-5, false);
}

/// Operators that move values, one after another under every strategy: an offset that is wrong by one shows.
#[test]
fn a_network_of_moves_agrees_with_its_reference_under_every_plan() {
    agrees_under_every_plan(&network(), &[0.0, 299.0, 17.0, 5.0, 5.0, -1.0, 128.0, 64.0, 2.0], 1e-5, true);
}

/// Runs a graph under every plan, with poison. `same_bits` says that all rules together keep every bit.
fn agrees_under_every_plan(graph: &Graph, input: &[f32], tolerance: f32, same_bits: bool) {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let all = reference::graph(graph, &[input.to_vec()]).unwrap();
    let expected: Vec<&Vec<f32>> = graph.outputs.iter().map(|&id| all[id].as_ref().unwrap()).collect();
    let mut first: Option<Vec<Vec<f32>>> = None;
    for rules in [Rules::all(), Rules::none()] {
        first = first.filter(|_| same_bits);
        let plain = CompileOptions { rules, ..CompileOptions::default() };
        let tiled = CompileOptions { objective: Objective::Smallest, ..plain.clone() };
        let small = compile(graph, &tiled, &SearchControl::new()).unwrap();
        let whole = every_plan(graph, &plain).into_iter().map(|(planner, compiled)| (planner.to_string(), compiled));
        for (what, compiled) in whole.chain([("in stripes".to_owned(), small)]) {
            let pipelines = pipelines.clone();
            let options = ExecutorOptions { pipelines, poison: true, ..ExecutorOptions::default() };
            let mut session = Executor::from_compiled(&gpu, compiled, &options).unwrap();
            let outputs = session.run(&[input]).unwrap();
            for (actual, expected) in outputs.iter().zip(&expected) {
                let near = |(a, b): (&f32, &f32)| (a - b).abs() <= tolerance;
                assert!(actual.len() == expected.len() && actual.iter().zip(*expected).all(near), "{what}");
            }
            assert_eq!(first.get_or_insert_with(|| outputs.clone()), &outputs, "{what}: other bits");
        }
    }
}
