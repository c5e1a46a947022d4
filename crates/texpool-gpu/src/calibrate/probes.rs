//! The chains to time, each defined by one link.

use texpool_ops::{
    graph::{
        Act, Binary, BuildError, Conv2d, CoordMode, GraphBuilder, MatMul, Op, Padding, Pool2d, PoolKind, ResizeMode,
        Softmax, TensorId, Transpose, TransposeConv, Unary,
    },
    ops::CostClass,
};

type LinkResult = Result<TensorId, BuildError>;
/// Adds a link to the chain so far. The number is the height and width of its input.
type Link = fn(&mut GraphBuilder, TensorId, usize) -> LinkResult;

/// One chain.
pub(super) struct Probe {
    /// Height and width.
    pub(super) edge: usize,
    pub(super) channels: usize,
    pub(super) link: Link,
}

const fn probe(edge: usize, channels: usize, link: Link) -> Probe {
    Probe { edge, channels, link }
}

/// The chains of each class. A chain may contain operators of classes that come earlier in the list. A class with two
/// chains allows the cost of arithmetic to be separated from the cost of texels.
pub(super) const PROBES: &[(CostClass, &[Probe])] = &[
    (
        CostClass::Elementwise,
        &[
            probe(56, 32, |b, x, _| b.unary("y", Unary::Abs, x)),
            probe(56, 32, |b, x, _| b.binary("y", Binary::Add, x, x, Act::None)),
        ],
    ),
    (
        CostClass::Pointwise,
        &[probe(56, 16, |b, x, _| conv(b, x, [16, 16], 1)), probe(28, 128, |b, x, _| conv(b, x, [128, 128], 1))],
    ),
    (CostClass::PointwiseDeep, &[probe(14, 512, |b, x, _| conv(b, x, [512, 512], 1))]),
    (
        CostClass::Window,
        &[probe(28, 16, |b, x, _| conv(b, x, [16, 16], 3)), probe(14, 128, |b, x, _| conv(b, x, [128, 128], 3))],
    ),
    (CostClass::WindowDeep, &[probe(7, 384, |b, x, _| conv(b, x, [384, 384], 3))]),
    (
        CostClass::Narrow,
        &[
            probe(56, 4, |b, x, _| conv(b, x, [4, 4], 3)),
            // Two convolutions per link, so that the next link gets the same number of channels as this one.
            probe(28, 128, |b, x, _| conv(b, x, [128, 4], 1).and_then(|y| conv(b, y, [4, 128], 1))),
        ],
    ),
    (
        CostClass::Dense,
        &[probe(1, 512, |b, x, _| conv(b, x, [512, 512], 1)), probe(1, 1536, |b, x, _| conv(b, x, [1536, 1536], 1))],
    ),
    (
        CostClass::Rows,
        &[probe(32, 32, |b, x, _| b.node("y", Op::MatMul(MatMul { transpose_b: true }), &[x, x], Act::None))],
    ),
    (CostClass::Depthwise, &[probe(56, 32, |b, x, _| depthwise(b, x, 3)), probe(56, 32, |b, x, _| depthwise(b, x, 5))]),
    (CostClass::Pool, &[probe(56, 32, |b, x, _| pool(b, x, 3, 1)), probe(56, 32, |b, x, _| pool(b, x, 5, 1))]),
    (CostClass::Reduce, &[probe(56, 64, mean)]),
    (
        CostClass::Softmax,
        &[probe(56, 32, |b, x, _| b.node("y", Op::Softmax(Softmax { beta: 1.0, log: false }), &[x], Act::None))],
    ),
    (CostClass::Resize, &[probe(28, 32, twice)]),
    (CostClass::Transposed, &[probe(28, 16, transposed)]),
    (
        CostClass::Move,
        &[probe(56, 32, |b, x, _| b.node("y", Op::Transpose(Transpose { perm: [0, 2, 1, 3] }), &[x], Act::None))],
    ),
    (CostClass::Concat, &[probe(56, 16, |b, x, _| b.concat("y", 3, &[x, x]).and_then(|y| conv(b, y, [32, 16], 1)))]),
];

const fn same(window: usize) -> Conv2d {
    let edge = window / 2;
    let padding = Padding { top: edge, bottom: edge, left: edge, right: edge };
    Conv2d { stride: [1, 1], dilation: [1, 1], padding, groups: 1 }
}

fn weights(b: &mut GraphBuilder, dims: &[usize; 4]) -> LinkResult {
    b.constant("w", dims, &vec![0.0; dims.iter().product()])
}

/// Adds a convolution with a square window that preserves height and width.
pub(super) fn conv(b: &mut GraphBuilder, x: TensorId, [from, to]: [usize; 2], window: usize) -> LinkResult {
    let weights = weights(b, &[to, window, window, from])?;
    b.conv2d("y", same(window), x, weights, None, Act::None)
}

fn depthwise(b: &mut GraphBuilder, x: TensorId, window: usize) -> LinkResult {
    let weights = weights(b, &[1, window, window, 32])?;
    b.depthwise("y", same(window), x, weights, None, Act::None)
}

fn pool(b: &mut GraphBuilder, x: TensorId, window: usize, stride: usize) -> LinkResult {
    let padding = if stride == 1 { same(window).padding } else { Padding::default() };
    b.pool("y", Pool2d::plain(PoolKind::Max, [window; 2], [stride; 2], padding), x)
}

/// Adds the mean of each row to the input.
fn mean(b: &mut GraphBuilder, x: TensorId, _: usize) -> LinkResult {
    let mean = b.mean("m", [false, false, true, false], x)?;
    b.binary("y", Binary::Add, x, mean, Act::None)
}

/// Doubles height and width, then halves them again.
fn twice(b: &mut GraphBuilder, x: TensorId, edge: usize) -> LinkResult {
    let size = [2 * edge; 2];
    let large = b.resize("large", ResizeMode::Linear, CoordMode::HalfPixel, x, size)?;
    pool(b, large, 2, 2)
}

/// Doubles height and width by a transposed convolution, then halves them again.
fn transposed(b: &mut GraphBuilder, x: TensorId, edge: usize) -> LinkResult {
    let size = [2 * edge; 2];
    let weights = weights(b, &[16, 2, 2, 16])?;
    let up = TransposeConv { stride: [2, 2], padding: Padding::default(), dilation: [1, 1], groups: 1 };
    let large = b.transpose_conv("large", up, [x, weights], None, size)?;
    pool(b, large, 2, 2)
}
