//! Pads and column concatenations whose parts are written in place: the slices of a row are further apart than their
//! width, and a step writes only the border. The bits equal those of steps that copy, and the results match the CPU
//! references.

use std::ops::ControlFlow;

use texpool_compile::{CompileOptions, CompiledModel, Objective, Tiling, compile, pareto_front, schedule::StepKind};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, SharedPipelines, compare, tolerance};
use texpool_model::rewrite::Rules;
use texpool_ops::graph::{
    Act, Conv2d, CoordMode, Graph, GraphBuilder, Op, Pad, PadMode, Padding, Pool2d, PoolKind, ResizeMode, TensorId,
    Unary,
};
use texpool_plan::{SearchControl, TexelFormat};

use crate::support::{hash::bits, open};

const NONE: Padding = Padding { top: 0, bottom: 0, left: 0, right: 0 };

pub(crate) fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.618_034).fract() * 2.0 - 1.0).collect()
}

fn conv(b: &mut GraphBuilder, x: TensorId, [to, window, from]: [usize; 3]) -> TensorId {
    let half = window / 2;
    let padding = Padding { top: half, bottom: half, left: half, right: half };
    let weights = b.constant("w", &[to, window, window, from], &numbers(to * window * window * from)).unwrap();
    let conv = Conv2d { stride: [1; 2], dilation: [1; 2], padding, groups: 1 };
    b.conv2d("conv", conv, x, weights, None, Act::Unary(Unary::Relu)).unwrap()
}

fn pad(b: &mut GraphBuilder, x: TensorId, before: [isize; 4], after: [isize; 4], value: f32) -> TensorId {
    b.node("pad", Op::Pad(Pad { before, after, mode: PadMode::Constant(value) }), &[x], Act::None).unwrap()
}

/// The border of `a` has another value than zero, and `a` has another reader. Columns of three slices are
/// concatenated inside a border. A last pad adds rows only.
fn network() -> Graph {
    let mut b = GraphBuilder::new("in place");
    let x = b.input("x", &[1, 14, 9, 6]).unwrap();
    let a = conv(&mut b, x, [8, 3, 6]);
    let around = pad(&mut b, a, [0, 1, 2, 0], [0, 2, 1, 4], 0.25);
    let mean = b.pool("mean", Pool2d::plain(PoolKind::Average, [2, 3], [1, 1], NONE), around).unwrap();
    let near = conv(&mut b, mean, [12, 1, 12]);
    let far = conv(&mut b, mean, [12, 3, 12]);
    let beside = b.concat("beside", 2, &[near, far]).unwrap();
    let framed = pad(&mut b, beside, [0, 1, 1, 4], [0, 0, 2, 3], 0.0);
    let half = b.resize("half", ResizeMode::Linear, CoordMode::HalfPixel, framed, [9, 11]).unwrap();
    let again = conv(&mut b, half, [4, 1, 19]);
    let rows = pad(&mut b, again, [0, 3, 0, 0], [0, 2, 0, 0], -1.5);
    let out = b.pool("out", Pool2d::plain(PoolKind::Max, [3, 2], [2, 1], NONE), rows).unwrap();
    let side = b.unary("side", Unary::Tanh, a).unwrap();
    b.finish(&[out, side]).unwrap()
}

/// The first part of a concatenation is computed before the largest maps, so writing it in place takes memory at the peak.
fn early_part() -> Graph {
    let mut b = GraphBuilder::new("early part");
    let x = b.input("x", &[1, 16, 16, 4]).unwrap();
    let early = conv(&mut b, x, [4, 3, 4]);
    let wide = conv(&mut b, early, [32, 1, 4]);
    let wider = conv(&mut b, wide, [32, 3, 32]);
    let late = conv(&mut b, wider, [4, 1, 32]);
    let both = b.concat("both", 3, &[early, late]).unwrap();
    let out = conv(&mut b, both, [4, 3, 8]);
    b.finish(&[out]).unwrap()
}

/// Runs a plan twice with poison, and returns the hash of its outputs, which must be finite and the same.
pub(crate) fn run(gpu: &Gpu, compiled: CompiledModel, pipelines: &SharedPipelines, input: &[f32]) -> u64 {
    let options = ExecutorOptions { pipelines: pipelines.clone(), poison: true, ..ExecutorOptions::default() };
    let mut session = Executor::from_compiled(gpu, compiled, &options).unwrap();
    let first = session.run(&[input]).unwrap();
    assert!(first.iter().flatten().all(|v| v.is_finite()), "an output is not finite");
    assert_eq!(bits(&first), bits(&session.run(&[input]).unwrap()), "two runs differ");
    bits(&first)
}

/// Counts the steps that write only a border, and the concatenations that remain steps.
fn frames_and_copies(compiled: &CompiledModel) -> (usize, usize) {
    let steps = &compiled.schedule().steps;
    let copies = steps.iter().filter(|step| matches!(compiled.graph().nodes[step.node].op, Op::Concat(_)));
    (steps.iter().filter(|step| step.kind == StepKind::PadBorder).count(), copies.count())
}

/// Writing parts in place changes no bit.
#[test]
fn parts_with_slices_apart_and_borders_give_the_same_bits() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let graph = network();
    let input = numbers(14 * 9 * 6);
    for format in [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float] {
        let options = CompileOptions { format, limits: gpu.texture_limits(), ..CompileOptions::default() };
        let copied = CompileOptions { rules: Rules::without(&["in-place"]).unwrap(), ..options.clone() };
        let plain = compile(&graph, &copied, &SearchControl::new()).unwrap();
        assert_eq!(frames_and_copies(&plain), (0, 1));
        let expected = run(&gpu, plain, &pipelines, &input);
        let whole = compile(&graph, &options, &SearchControl::new()).unwrap();
        assert_eq!(frames_and_copies(&whole), (3, 0), "with whole tensors");
        assert_eq!(run(&gpu, whole, &pipelines, &input), expected, "with whole tensors, {format:?}");
        let front = pareto_front(&graph, &options, &SearchControl::new()).unwrap();
        let mut framed = 0;
        for (index, point) in front.points().iter().enumerate() {
            let compiled = front.compiled(index).unwrap();
            framed += usize::from(frames_and_copies(&compiled).0 > 3);
            assert_eq!(run(&gpu, compiled, &pipelines, &input), expected, "{} bytes, {format:?}", point.bytes);
        }
        assert!(framed > 0, "no point of the front has borders in stripes");
    }
}

/// Whichever parts an objective writes in place in whole tensors, no bit changes.
#[test]
fn every_plan_of_whole_tensors_gives_the_same_bits() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let graph = early_part();
    let input = numbers(16 * 16 * 4);
    let limits = gpu.texture_limits();
    let options = CompileOptions { limits, tiling: Tiling::Whole, ..CompileOptions::default() };
    let front = pareto_front(&graph, &options, &SearchControl::new()).unwrap();
    let plans: Vec<CompiledModel> = (0..front.points().len()).filter_map(|index| front.compiled(index)).collect();
    let copies: Vec<usize> = plans.iter().map(|compiled| frames_and_copies(compiled).1).collect();
    assert_eq!(copies, [0, 1]);
    let results: Vec<u64> = plans.into_iter().map(|compiled| run(&gpu, compiled, &pipelines, &input)).collect();
    assert_eq!(results[0], results[1]);
}

#[test]
fn steps_beside_borders_are_what_their_references_say() {
    let gpu = open();
    let graph = network();
    let input = numbers(14 * 9 * 6);
    for objective in [Objective::Fastest, Objective::Smallest] {
        let options = CompileOptions { objective, limits: gpu.texture_limits(), ..CompileOptions::default() };
        let near = tolerance(TexelFormat::Rgba32Float);
        let steps = compare(&gpu, &graph, options, &[&input], near, |_, _| ControlFlow::Continue(())).unwrap();
        assert!(steps.len() >= 8, "{objective:?}: {} steps", steps.len());
        for step in steps {
            assert!(step.relative() <= near, "{objective:?}: {step:?}");
        }
    }
}
