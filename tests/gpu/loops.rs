//! Loops with very many rounds. llvmpipe ends such loops early without an error, so operators that need more rounds
//! are refused there, and accepted ones must be right to the last element.

use std::f32::consts::LN_2;

use texpool::WeightFormat;
use texpool_compile::CompileOptions;
use texpool_gpu::{Executor, ExecutorOptions, Gpu, GpuError, SharedPipelines};
use texpool_ops::graph::{
    Act, Conv2d, CumSum, Graph, GraphBuilder, Lrn, MatMul, NonMaxSuppression, Normalize, Op, Padding, Pool2d, PoolKind,
    Reduce, ReduceKind, SegmentKind, SegmentReduce, SeparableConv2d, Softmax, StridedSlice, Threshold, TopK,
    TransposeConv,
};
use texpool_plan::TexelFormat;

use crate::support::open;

/// Upper limit on the extents tested here.
const MOST: usize = 1 << 17;

/// A graph whose one input has a variable extent, and the last element of its output if the input is ones followed by
/// a two.
struct Case {
    name: &'static str,
    graph: fn(usize) -> Graph,
    /// Computes the expected last element from the number of elements.
    answer: fn(f64) -> f64,
}

/// A graph of one operator.
fn one(dims: &[usize], op: Op) -> Graph {
    let mut b = GraphBuilder::new("one");
    let x = b.input("x", dims).unwrap();
    let y = b.node("y", op, &[x], Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

fn reduce(dims: &[usize], kind: ReduceKind, axes: [bool; 4]) -> Graph {
    one(dims, Op::Reduce(Reduce { kind, axes }))
}

fn pool(dims: &[usize], kind: PoolKind, window: [usize; 2]) -> Graph {
    one(dims, Op::Pool2d(Pool2d::plain(kind, window, [1, 1], Padding::default())))
}

const IMAGE: [bool; 4] = [false, true, true, false];
const WIDTH: [bool; 4] = [false, false, true, false];
const CHANNELS: [bool; 4] = [false, false, false, true];

/// Operators that need a round or more for each element and are never refused, since they run in two steps or by a
/// workgroup.
const REDUCTIONS: [Case; 17] = [
    Case {
        name: "TopK",
        graph: |n| one(&[1, 1, 1, 4 * n], Op::TopK(TopK { k: 1, largest: true, indices: false })),
        answer: |_| 2.0,
    },
    Case {
        name: "ReduceSum",
        graph: |rows| reduce(&[1, rows, 16, 1], ReduceKind::Sum, IMAGE),
        answer: |elements| elements + 1.0,
    },
    Case { name: "ReduceMax", graph: |rows| reduce(&[1, rows, 16, 1], ReduceKind::Max, IMAGE), answer: |_| 2.0 },
    Case {
        name: "ReduceMin over channels",
        graph: |n| reduce(&[1, 1, 1, 4 * n], ReduceKind::Min, CHANNELS),
        answer: |_| 1.0,
    },
    Case {
        name: "ReduceProd of images",
        graph: |images| reduce(&[images, 1, 1, 1], ReduceKind::Prod, [true, false, false, false]),
        answer: |_| 2.0,
    },
    Case {
        name: "ReduceL1 over rows",
        graph: |rows| reduce(&[1, rows, 1, 1], ReduceKind::L1, [false, true, false, false]),
        answer: |elements| elements + 1.0,
    },
    Case {
        name: "ReduceL2 over width",
        graph: |n| reduce(&[1, 1, n, 1], ReduceKind::L2, WIDTH),
        answer: |elements| (elements + 3.0).sqrt(),
    },
    Case {
        name: "ReduceLogSumExp",
        graph: |rows| reduce(&[1, rows, 1, 4], ReduceKind::LogSumExp, [false, true, false, true]),
        answer: |elements| (elements - 1.0 + 1.0_f64.exp()).ln() + 1.0,
    },
    Case {
        name: "ArgMax over width",
        graph: |n| reduce(&[1, 1, n, 1], ReduceKind::ArgMax { last: false }, WIDTH),
        answer: |elements| elements - 1.0,
    },
    Case {
        name: "ArgMin over channels, the last",
        graph: |n| reduce(&[1, 1, 1, n], ReduceKind::ArgMin { last: true }, CHANNELS),
        answer: |elements| elements - 2.0,
    },
    Case {
        name: "Mean",
        graph: |rows| reduce(&[1, rows, 16, 1], ReduceKind::Mean, IMAGE),
        answer: |elements| (elements + 1.0) / elements,
    },
    Case {
        name: "Mean of narrow rows",
        graph: |rows| reduce(&[1, rows, 1, 1], ReduceKind::Mean, IMAGE),
        answer: |elements| (elements + 1.0) / elements,
    },
    Case {
        name: "ReduceMean over width",
        graph: |n| reduce(&[1, 1, n, 1], ReduceKind::Mean, WIDTH),
        answer: |elements| (elements + 1.0) / elements,
    },
    Case {
        name: "ReduceMean over channels",
        graph: |slices| reduce(&[1, 1, 1, slices * 4], ReduceKind::Mean, CHANNELS),
        answer: |elements| (elements + 1.0) / elements,
    },
    Case { name: "MaxPool", graph: |rows| pool(&[1, rows, 16, 1], PoolKind::Max, [rows, 16]), answer: |_| 2.0 },
    Case { name: "MaxPool over width", graph: |n| pool(&[1, 1, n, 1], PoolKind::Max, [1, n]), answer: |_| 2.0 },
    Case {
        name: "LpPool",
        graph: |rows| pool(&[1, rows, 16, 1], PoolKind::Lp { p: 3 }, [rows, 16]),
        answer: |elements| (elements + 7.0).cbrt(),
    },
];

/// Operators that loop over each element of an axis, and are refused if the loop is too long.
const LIMITED: [Case; 2] = [
    Case {
        name: "AveragePool over width",
        graph: |n| {
            let counted = Some(Padding { left: 1, ..Padding::default() });
            let padding = Padding { left: 1, ..Padding::default() };
            let pool = Pool2d { counted, ..Pool2d::plain(PoolKind::Average, [1, n + 1], [1, 1], padding) };
            one(&[1, 1, n, 1], Op::Pool2d(pool))
        },
        answer: |_| 1.0,
    },
    Case {
        name: "LRN over all channels",
        graph: |n| one(&[1, 1, 1, n], Op::Lrn(Lrn { size: 2 * n, alpha: 2.0 * n as f32, beta: 1.0, bias: 0.0 })),
        answer: |elements| 2.0 / (elements + 3.0),
    },
];

/// Operators that take several elements of a long axis in each round, with the greatest extents tested.
const LONG: [(Case, usize); 5] = [
    (
        Case {
            name: "FullyConnected",
            graph: |inputs| {
                let mut b = GraphBuilder::new("dense");
                // Fewer outputs than lanes in a texel, so that it is not turned into a convolution.
                let x = b.input("x", &[1, 1, inputs, 3]).unwrap();
                let weights = b.constant("w", &[1, inputs * 3], &vec![1.0; inputs * 3]).unwrap();
                let y = b.fully_connected("y", x, weights, None, Act::None).unwrap();
                b.finish(&[y]).unwrap()
            },
            answer: |elements| elements + 1.0,
        },
        1 << 21,
    ),
    (
        Case {
            name: "CumSum",
            graph: |n| one(&[1, n, 1, 1], Op::CumSum(CumSum { axis: 1, exclusive: false, reverse: false })),
            answer: |elements| elements + 1.0,
        },
        1 << 21,
    ),
    (
        Case {
            name: "SegmentReduce of one segment",
            graph: |n| {
                let mut b = GraphBuilder::new("segment");
                let x = b.input("x", &[1, 1, n, 1]).unwrap();
                let segments = b.constant("segments", &[1, 1, 1, n], &vec![0.0; n]).unwrap();
                let op = Op::SegmentReduce(SegmentReduce { kind: SegmentKind::Sum, sorted: false });
                let y = b.node_to("y", op, &[x, segments], &[1, 1, 1, 1], Act::None).unwrap();
                b.finish(&[y]).unwrap()
            },
            answer: |elements| elements + 1.0,
        },
        1 << 20,
    ),
    (
        Case {
            name: "Softmax",
            graph: |n| one(&[1, 1, 1, 4 * n], Op::Softmax(Softmax { beta: LN_2, log: false })),
            answer: |elements| 2.0 / (elements + 1.0),
        },
        1 << 20,
    ),
    (
        Case {
            name: "Normalize",
            graph: |n| one(&[1, 1, 1, 4 * n], Op::Normalize(Normalize::variance(CHANNELS, 0.0))),
            answer: |elements| (elements - 1.0).sqrt(),
        },
        1 << 20,
    ),
];

/// A selection of all boxes, none of which has an area, with the greatest number of boxes tested. It is refused if boxes and
/// places are too many together. The last place has the last but one, because the last has the best score.
const SELECTION: (Case, usize) = (
    Case {
        name: "NonMaxSuppression",
        graph: |n| {
            let mut b = GraphBuilder::new("selection");
            let boxes = b.input("boxes", &[1, 1, n, 4]).unwrap();
            let sum = Op::Reduce(Reduce { kind: ReduceKind::Sum, axes: CHANNELS });
            let sums = b.node("sums", sum, &[boxes], Act::None).unwrap();
            let scores = b.reshape("scores", sums, &[1, 1, 1, n]).unwrap();
            let [score, overlap] = [Threshold { value: 0.5, is_included: false }; 2];
            let op = NonMaxSuppression { places: n, score, overlap, unused: [-1.0; 2] };
            let selected = b.node("selected", Op::NonMaxSuppression(op), &[boxes, scores], Act::None).unwrap();
            let index = Op::StridedSlice(StridedSlice { begin: [0, 0, n - 1, 0], stride: [1; 4] });
            let y = b.node_to("y", index, &[selected], &[1, 1, 1, 1], Act::None).unwrap();
            b.finish(&[y]).unwrap()
        },
        answer: |elements| (elements / 4.0 - 2.0).max(0.0),
    },
    1 << 14,
);

fn executor(gpu: &Gpu, graph: &Graph, pipelines: &SharedPipelines) -> Result<Executor, GpuError> {
    Executor::new(gpu, graph, &ExecutorOptions { pipelines: pipelines.clone(), ..ExecutorOptions::default() })
}

/// Returns the last element of the output for an input of `before` values followed by a two.
fn last(executor: &mut Executor, before: f32) -> f32 {
    let graph = executor.compiled().graph();
    let mut values = vec![before; graph.shape(graph.inputs[0]).len()];
    *values.last_mut().unwrap() = 2.0;
    *executor.run(&[&values]).unwrap()[0].last().unwrap()
}

/// Panics if a case with this extent gives a wrong answer.
fn is_right(gpu: &Gpu, Case { name, graph, answer }: &Case, extent: usize, pipelines: &SharedPipelines) {
    let graph = graph(extent);
    let elements = graph.shape(graph.inputs[0]).len();
    let actual = last(&mut executor(gpu, &graph, pipelines).unwrap(), 1.0);
    let expected = answer(elements as f64) as f32;
    println!("{name}: {elements} elements");
    assert!((actual - expected).abs() <= 2e-5 * expected, "{name}: {actual} of {elements} elements, not {expected}");
}

#[test]
fn reductions_are_refused_nowhere() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    for case in &REDUCTIONS {
        // Extents below and above the thresholds for a workgroup and for two steps, and where a single loop would be
        // cut short.
        for extent in [500, 8191, 8193, 16381, 72_022] {
            is_right(&gpu, case, extent, &pipelines);
        }
    }
}

#[test]
fn accepted_reductions_are_right_to_the_last_element() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let limited = gpu.device.adapter_info().driver == "llvmpipe";
    let long = LONG.iter().chain([&SELECTION]).map(|(case, most)| (case, *most));
    for (case, most) in LIMITED.iter().map(|case| (case, MOST)).chain(long) {
        let Case { name, graph, .. } = case;
        // Largest extent that is accepted.
        let (mut accepted, mut refused) = (1, most);
        while refused - accepted > 1 {
            let middle = accepted.midpoint(refused);
            match executor(&gpu, &graph(middle), &pipelines) {
                Ok(_) => accepted = middle,
                Err(error) => {
                    let GpuError::Limit { what, limit, needed, allowed, .. } = &error else {
                        panic!("{name}: {error:?}")
                    };
                    assert!(limited && *limit == "LP_MAX_TGSI_LOOP_ITERATIONS" && needed > allowed, "{error}");
                    assert!(what.starts_with("an invocation of operator "), "{name}: {error}");
                    refused = middle;
                }
            }
        }
        is_right(&gpu, case, accepted, &pipelines);
    }
}

/// Loops over the pixels and slices of a block are nested in counted loops but are not counted themselves, since
/// drivers unroll them. Each shader with such loops runs nearly as many rounds as llvmpipe allows, with blocks and
/// weights of every form.
#[test]
fn loops_over_a_block_take_no_rounds() {
    const ROUNDS: usize = 64_900;
    let conv = |channels: usize, taps: usize, out: usize| {
        let mut b = GraphBuilder::new("conv");
        let x = b.input("x", &[1, 1, 7 + taps, channels]).unwrap();
        let weights = b.constant("w", &[out, 1, taps, channels], &vec![1.0; out * taps * channels]).unwrap();
        let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding::default(), groups: 1 };
        let y = b.conv2d("y", conv, x, weights, None, Act::None).unwrap();
        b.finish(&[y]).unwrap()
    };
    let transposed = |channels: usize, taps: usize, out: usize| {
        let mut b = GraphBuilder::new("transposed");
        let x = b.input("x", &[1, 1, 7 + taps, channels]).unwrap();
        let weights = b.constant("w", &[out, 1, taps, channels], &vec![1.0; out * taps * channels]).unwrap();
        let conv = TransposeConv::plain([1, 1], Padding::default());
        let y = b.transpose_conv("y", conv, [x, weights], None, [1, 7 + taps]).unwrap();
        b.finish(&[y]).unwrap()
    };
    let matmul = |transpose_b: bool| {
        let mut b = GraphBuilder::new("matmul");
        let x = b.input("x", &[1, 1, 8, 4 * ROUNDS]).unwrap();
        let dims = if transpose_b { [1, 1, 16, 4 * ROUNDS] } else { [1, 1, 4 * ROUNDS, 16] };
        let weights = b.constant("w", &dims, &vec![1.0; 64 * ROUNDS]).unwrap();
        let y = b.node("y", Op::MatMul(MatMul { transpose_b }), &[x, weights], Act::None).unwrap();
        b.finish(&[y]).unwrap()
    };
    let depthwise = |width: usize| {
        let mut b = GraphBuilder::new("depthwise");
        // Rounds for a row of the window: the row's round, columns of four pixels, and the window's columns.
        let rows = ROUNDS / (1 + (3 + width + 1) + (width + 1));
        let x = b.input("x", &[1, rows, 3 + width, 1]).unwrap();
        let weights = b.constant("w", &[1, rows, width, 1], &vec![1.0; rows * width]).unwrap();
        let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding::default(), groups: 1 };
        let y = b.depthwise("y", conv, x, weights, None, Act::None).unwrap();
        b.finish(&[y]).unwrap()
    };
    // The largest number of slices that the kernel accepts, for a window of one row and blocks of four pixels and eight
    // slices.
    let separable = |width: usize, out: usize| {
        let mut b = GraphBuilder::new("separable");
        let channels = 4 * ((1 << 15) / (3 + width + width + 2));
        let x = b.input("x", &[1, 1, 3 + width, channels]).unwrap();
        let mut constant =
            |name, dims: &[usize], value| b.constant(name, dims, &vec![value; dims.iter().product()]).unwrap();
        let (weights, bias) = (constant("w", &[out, 1, 1, channels], 1.0), constant("bias", &[out], 0.0));
        let (window, zeros) = (constant("window", &[1, 1, width, channels], 1.0), constant("zeros", &[channels], 0.0));
        let depthwise = Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding::default(), groups: 1 };
        let op = Op::SeparableConv2d(SeparableConv2d { depthwise, between: None });
        let y = b.node("y", op, &[x, weights, bias, window, zeros], Act::None).unwrap();
        b.finish(&[y]).unwrap()
    };
    let graphs = [
        separable(3, 32),
        separable(9, 5),
        conv(4 * ROUNDS, 1, 16),
        conv(4 * ROUNDS, 1, 5),
        conv(4 * ROUNDS, 1, 4),
        conv(4 * (ROUNDS / 3 - 2), 3, 16),
        conv(3, ROUNDS, 8),
        transposed(4 * ROUNDS, 1, 16),
        transposed(4 * (ROUNDS / 3 - 2), 3, 5),
        transposed(3, ROUNDS / 3 - 2, 8),
        matmul(false),
        matmul(true),
        depthwise(3),
        depthwise(13),
    ];
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    for format in [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float] {
        for weight_format in [WeightFormat::F32, WeightFormat::F16, WeightFormat::Int8] {
            for (number, graph) in graphs.iter().enumerate() {
                let compile = CompileOptions { format, weight_format, ..CompileOptions::default() };
                let options = ExecutorOptions { compile, pipelines: pipelines.clone(), ..ExecutorOptions::default() };
                let actual = last(&mut Executor::new(&gpu, graph, &options).unwrap(), 0.0);
                assert!(
                    (actual - 2.0).abs() < 0.02,
                    "{} ({number}), {format:?}, {weight_format:?}: {actual}",
                    graph.name
                );
            }
        }
    }
}

/// Extents near that from which several elements are taken in a round: with rounds that are full, and with a last one of
/// few elements.
#[test]
fn long_axes_are_taken_in_batches() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let top = Case {
        name: "TopK",
        graph: |n| one(&[1, 1, 1, 4 * n], Op::TopK(TopK { k: 2000, largest: false, indices: false })),
        answer: |_| 1.0,
    };
    // Extent for each texel that an invocation takes: pixels of three inputs, rows, and slices by 64 lanes.
    for (case, each) in LONG.iter().map(|(case, _)| case).chain([&top]).zip([2, 1, 64, 64, 64]) {
        for extent in [4095 * each, 4096 * each, 4096 * each + 1] {
            is_right(&gpu, case, extent, &pipelines);
        }
    }
}

/// More rows than one invocation may add up, and as many elements as two steps can reduce: 4 in each texel.
#[test]
fn an_image_of_a_million_texels_is_reduced_in_two_steps() {
    let gpu = open();
    for (kind, expected) in [
        (ReduceKind::Sum, (1 << 22) as f32),
        (ReduceKind::SumSquare, (1 << 22) as f32),
        (ReduceKind::L2, (1 << 11) as f32),
        (ReduceKind::LogSum, 22.0 * 2.0_f32.ln()),
        (ReduceKind::Mean, 1.0),
    ] {
        let graph = reduce(&[1, 1024, 1024, 4], kind, [false, true, true, true]);
        let mut executor = Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap();
        assert_eq!(executor.compiled().graph().nodes.len(), 2, "{kind:?}");
        let actual = executor.run(&[&vec![1.0; 1 << 22]]).unwrap()[0][0];
        assert!((actual - expected).abs() <= 1e-5 * expected, "{kind:?}: {actual}, not {expected}");
    }
}
