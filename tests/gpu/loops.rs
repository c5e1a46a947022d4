//! Loops that go round very often: llvmpipe ends them without a word, so what needs more rounds is refused there, and what
//! is not refused is right to the last element.

use texpool::{
    gpu::{Executor, ExecutorOptions, Gpu, GpuError, SharedPipelines},
    graph::{Act, Graph, GraphBuilder, Op, Padding, Pool2d, PoolKind, ReduceKind, TopK},
};

use crate::support::open;

/// Extents beyond which no loop here goes.
const MOST: usize = 1 << 17;

/// A graph with one input of an extent, and what it answers, at the end, of ones before a last two.
struct Case {
    name: &'static str,
    graph: fn(usize) -> Graph,
    /// Of the number of elements.
    answer: fn(usize) -> f32,
}

const CASES: [Case; 9] = [
    Case {
        name: "ReduceSum",
        graph: |rows| {
            let mut b = GraphBuilder::new("sum");
            let x = b.input("x", &[1, rows, 16, 1]).unwrap();
            let y = b.reduce("y", ReduceKind::Sum, [false, true, true, false], x).unwrap();
            b.finish(&[y]).unwrap()
        },
        answer: |elements| elements as f32 + 1.0,
    },
    Case {
        name: "ReduceMax",
        graph: |rows| {
            let mut b = GraphBuilder::new("max");
            let x = b.input("x", &[1, rows, 16, 1]).unwrap();
            let y = b.reduce("y", ReduceKind::Max, [false, true, true, false], x).unwrap();
            b.finish(&[y]).unwrap()
        },
        answer: |_| 2.0,
    },
    Case {
        name: "MaxPool",
        graph: |rows| {
            let mut b = GraphBuilder::new("pool");
            let x = b.input("x", &[1, rows, 16, 1]).unwrap();
            let pool = Pool2d::plain(PoolKind::Max, [rows, 16], [1, 1], Padding::default());
            let y = b.pool("y", pool, x).unwrap();
            b.finish(&[y]).unwrap()
        },
        answer: |_| 2.0,
    },
    Case {
        name: "Mean",
        graph: |rows| {
            let mut b = GraphBuilder::new("mean");
            let x = b.input("x", &[1, rows, 16, 1]).unwrap();
            let y = b.mean("y", [false, true, true, false], x).unwrap();
            b.finish(&[y]).unwrap()
        },
        answer: |elements| (elements as f32 + 1.0) / elements as f32,
    },
    Case {
        name: "ReduceMean over width",
        graph: |pixels| {
            let mut b = GraphBuilder::new("mean");
            let x = b.input("x", &[1, 1, pixels, 1]).unwrap();
            let y = b.mean("y", [false, false, true, false], x).unwrap();
            b.finish(&[y]).unwrap()
        },
        answer: |elements| (elements as f32 + 1.0) / elements as f32,
    },
    Case {
        name: "ReduceMean over channels",
        graph: |slices| {
            let mut b = GraphBuilder::new("mean");
            let x = b.input("x", &[1, 1, 1, slices * 4]).unwrap();
            let y = b.mean("y", [false, false, false, true], x).unwrap();
            b.finish(&[y]).unwrap()
        },
        answer: |elements| (elements as f32 + 1.0) / elements as f32,
    },
    Case {
        name: "MaxPool over width",
        graph: |pixels| {
            let mut b = GraphBuilder::new("pool");
            let x = b.input("x", &[1, 1, pixels, 1]).unwrap();
            let pool = Pool2d::plain(PoolKind::Max, [1, pixels], [1, 1], Padding::default());
            let y = b.pool("y", pool, x).unwrap();
            b.finish(&[y]).unwrap()
        },
        answer: |_| 2.0,
    },
    Case {
        name: "FullyConnected",
        graph: |inputs| {
            let mut b = GraphBuilder::new("dense");
            // Not as many as a texel has, so that no convolution takes it over.
            let x = b.input("x", &[1, 1, inputs, 3]).unwrap();
            let weights = b.constant("w", &[1, inputs * 3], &vec![1.0; inputs * 3]).unwrap();
            let y = b.fully_connected("y", x, weights, None, Act::None).unwrap();
            b.finish(&[y]).unwrap()
        },
        answer: |elements| elements as f32 + 1.0,
    },
    Case {
        name: "TopK",
        graph: |slices| {
            let mut b = GraphBuilder::new("top");
            let x = b.input("x", &[1, 1, 1, slices * 4]).unwrap();
            let top = TopK { k: slices.min(50), largest: true, indices: false };
            let y = b.node("y", Op::TopK(top), &[x], Act::None).unwrap();
            b.finish(&[y]).unwrap()
        },
        answer: |_| 2.0,
    },
];

fn executor(gpu: &Gpu, graph: &Graph, pipelines: &SharedPipelines) -> Result<Executor, GpuError> {
    Executor::new(gpu, graph, &ExecutorOptions { pipelines: pipelines.clone(), ..ExecutorOptions::default() })
}

#[test]
fn what_is_not_refused_is_right_to_the_last_element() {
    let (gpu, pipelines) = (open(), SharedPipelines::default());
    let limited = gpu.device.adapter_info().driver == "llvmpipe";
    for Case { name, graph, answer } in CASES {
        // The largest extent that is taken.
        let (mut taken, mut refused) = (1, MOST);
        while refused - taken > 1 {
            let middle = taken.midpoint(refused);
            match executor(&gpu, &graph(middle), &pipelines) {
                Ok(_) => taken = middle,
                Err(error) => {
                    let GpuError::Limit { what, limit, needed, allowed } = &error else { panic!("{name}: {error:?}") };
                    assert!(limited && *limit == "LP_MAX_TGSI_LOOP_ITERATIONS" && needed > allowed, "{error}");
                    assert!(what.starts_with("an invocation of operator "), "{name}: {error}");
                    refused = middle;
                }
            }
        }
        let graph = graph(taken);
        let elements = graph.shape(graph.inputs[0]).len();
        let mut values = vec![1.0; elements];
        values[elements - 1] = 2.0;
        let found = executor(&gpu, &graph, &pipelines).unwrap().run(&[&values]).unwrap();
        let (found, expected) = (found[0][0], answer(elements));
        println!("{name}: {elements} elements are taken");
        assert!((found - expected).abs() <= 1e-6 * expected, "{name}: {found} of {elements} elements, not {expected}");
    }
}

/// A mean of many pixels is taken in two steps, so it is refused nowhere.
#[test]
fn a_mean_of_a_large_image_is_right() {
    let gpu = open();
    for rows in [200, 256, 257, 300] {
        let mut b = GraphBuilder::new("mean");
        let x = b.input("x", &[1, rows, 256, 1]).unwrap();
        let y = b.mean("y", [false, true, true, false], x).unwrap();
        let graph = b.finish(&[y]).unwrap();
        let mut executor = Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap();
        assert_eq!(executor.run(&[&vec![3.0; rows * 256]]).unwrap(), [[3.0]]);
    }
}
