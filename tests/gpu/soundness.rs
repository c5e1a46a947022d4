//! Shaders are compiled without run-time checks, so numbers that would wrap, or make a loop endless, never reach one.

use texpool_gpu::{Executor, ExecutorOptions, Gpu, GpuError};
use texpool_ops::{
    graph::{Act, Conv2d, Graph, GraphBuilder, Padding, Pool2d, PoolKind, Shape, TensorId, TransposeConv, Unary},
    kernels::KernelError,
};

use crate::support::open;

/// Becomes zero when it is truncated to 32 bits.
const WRAPS: usize = 1 << 32;

fn build_graph(build: impl FnOnce(&mut GraphBuilder) -> TensorId) -> Graph {
    let mut b = GraphBuilder::new("large");
    let y = build(&mut b);
    b.finish(&[y]).unwrap()
}

fn image(b: &mut GraphBuilder) -> TensorId {
    b.input("x", &[1, 3, 3, 4]).unwrap()
}

fn refused(gpu: &Gpu, graph: &Graph) -> (String, usize) {
    match Executor::new(gpu, graph, &ExecutorOptions::default()) {
        Err(GpuError::Kernel(KernelError::TooLarge { what, found, .. })) => (what, found),
        other => panic!("{:?}", other.map(drop)),
    }
}

/// Valid graphs, each with an attribute beyond 32 bits: a dilation or stride that would wrap to zero, and so give an
/// endless loop or a division by zero.
#[test]
fn attributes_that_wrap_are_refused() {
    let gpu = open();
    let none = Padding::default();
    let weights =
        |b: &mut GraphBuilder, dims: &[usize; 4]| b.constant("w", dims, &vec![0.5; dims.iter().product()]).unwrap();
    let dilated = build_graph(|b| {
        let x = image(b);
        let pool = Pool2d { dilation: [WRAPS, 1], ..Pool2d::plain(PoolKind::Max, [1, 2], [1, 1], none) };
        b.pool("pool", pool, x).unwrap()
    });
    assert_eq!(refused(&gpu, &dilated), ("dilation".to_owned(), WRAPS));
    let strided = build_graph(|b| {
        let x = image(b);
        let weights = weights(b, &[4, 2, 2, 4]);
        let conv = TransposeConv::plain([WRAPS, 1], none);
        b.transpose_conv("transposed", conv, [x, weights], None, [4, 4]).unwrap()
    });
    assert_eq!(refused(&gpu, &strided), ("stride".to_owned(), WRAPS));
    for depthwise in [false, true] {
        let strided = build_graph(|b| {
            let x = image(b);
            let conv = Conv2d { stride: [1, usize::MAX / 2], dilation: [1; 2], padding: none, groups: 1 };
            match depthwise {
                true => {
                    let weights = weights(b, &[1, 2, 2, 4]);
                    b.depthwise("depthwise", conv, x, weights, None, Act::None).unwrap()
                }
                false => {
                    let weights = weights(b, &[4, 2, 2, 4]);
                    b.conv2d("conv", conv, x, weights, None, Act::None).unwrap()
                }
            }
        });
        assert_eq!(refused(&gpu, &strided), ("stride".to_owned(), usize::MAX / 2));
    }
}

/// Attributes that just fit are run and give the right result: the largest dilation has no effect on a window of one.
#[test]
fn attributes_that_fit_are_run() {
    let graph = build_graph(|b| {
        let x = image(b);
        let dilation = [(1 << 29) - 1, 1];
        let pool = Pool2d { dilation, ..Pool2d::plain(PoolKind::Max, [1, 2], [1, 1], Padding::default()) };
        b.pool("pool", pool, x).unwrap()
    });
    let mut session = Executor::new(&open(), &graph, &ExecutorOptions::default()).unwrap();
    let values: Vec<f32> = (0..36).map(|v| v as f32).collect();
    let expected: Vec<f32> = (0..3).flat_map(|y| (4..12).map(move |i| (y * 12 + i) as f32)).collect();
    assert_eq!(session.run(&[&values]).unwrap()[0], expected);
}

/// A graph built by hand with inconsistent shapes is refused before anything is created.
#[test]
fn a_graph_that_is_not_whole_is_refused() {
    let mut graph = build_graph(|b| {
        let x = image(b);
        b.unary("y", Unary::Exp, x).unwrap()
    });
    let output = graph.outputs[0];
    let shape = Shape::new(1, 40, 3, 4);
    (graph.tensors[output].shape, graph.tensors[output].dims) = (shape, shape.dims().to_vec());
    match Executor::new(&open(), &graph, &ExecutorOptions::default()) {
        Err(GpuError::Graph(_) | GpuError::Compile(_)) => {}
        other => panic!("{:?}", other.map(drop)),
    }
}
