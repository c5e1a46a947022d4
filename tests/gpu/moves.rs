//! A network that looks up, pads, repeats and resamples, against its CPU reference under every strategy.

use texpool_compile::{CompileOptions, Objective, compile};
use texpool_gpu::{Executor, ExecutorOptions, SharedPipelines};
use texpool_model::rewrite::Rules;
use texpool_ops::{
    graph::{
        Act, CoordMode, DepthOrder, DepthToSpace, Gather, Graph, GraphBuilder, Op, Pad, PadMode, Padding, Pool2d,
        PoolKind, ResizeMode, Rounding, TensorId,
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
    let wide = node(&mut b, Op::DepthToSpace(DepthToSpace { block: 2, order: DepthOrder::Crd }), &[even]);
    b.finish(&[wide, large]).unwrap()
}

/// Operators that move values, one after another under every strategy: an offset that is wrong by one shows.
#[test]
fn a_network_of_moves_agrees_with_its_reference_under_every_plan() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let graph = network();
    let tokens = [0.0, 299.0, 17.0, 5.0, 5.0, -1.0, 128.0, 64.0, 2.0].to_vec();
    let all = reference::graph(&graph, std::slice::from_ref(&tokens)).unwrap();
    let expected: Vec<&Vec<f32>> = graph.outputs.iter().map(|&id| all[id].as_ref().unwrap()).collect();
    let mut first: Option<Vec<Vec<f32>>> = None;
    for rules in [Rules::all(), Rules::none()] {
        let plain = CompileOptions { rules, ..CompileOptions::default() };
        let tiled = CompileOptions { objective: Objective::Smallest, ..plain.clone() };
        let small = compile(&graph, &tiled, &SearchControl::new()).unwrap();
        let whole = every_plan(&graph, &plain).into_iter().map(|(planner, compiled)| (planner.to_string(), compiled));
        for (what, compiled) in whole.chain([("in stripes".to_owned(), small)]) {
            let pipelines = pipelines.clone();
            let options = ExecutorOptions { pipelines, poison: true, ..ExecutorOptions::default() };
            let mut session = Executor::from_compiled(&gpu, compiled, &options).unwrap();
            let outputs = session.run(&[&tokens]).unwrap();
            for (actual, expected) in outputs.iter().zip(&expected) {
                let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5;
                assert!(actual.len() == expected.len() && actual.iter().zip(*expected).all(near), "{what}");
            }
            assert_eq!(first.get_or_insert_with(|| outputs.clone()), &outputs, "{what}: other bits");
        }
    }
}
