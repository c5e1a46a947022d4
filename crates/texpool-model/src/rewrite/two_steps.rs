//! Splits pools of large windows and reductions of very many texels into two nodes each, with width and channels
//! reduced first. A single invocation that loops over that many texels is slow on any device, and llvmpipe silently
//! ends its loops after 65535 iterations. This is not a rule, because it makes the graph larger. It is applied in
//! every plan, so that all plans produce the same bits.

use std::borrow::Cow;

use texpool_ops::graph::{Epilogue, Graph, Node, Op, Padding, Pool2d, PoolKind, Reduce, ReduceKind, Shape, Tensor};

/// Number of pixels from which a window is split.
const LARGE_WINDOW: usize = 1 << 14;

/// Number of texels from which a reduction is split, because it is too much for a single workgroup.
const LARGE_REGION: usize = 1 << 20;

/// Splits every large pool and reduction into two nodes. Borrows the graph if nothing needs splitting.
///
/// ```
/// use texpool::rewrite::two_steps;
/// use texpool::graph::{GraphBuilder, Padding, Pool2d, PoolKind, Shape};
///
/// let mut b = GraphBuilder::new("global maximum");
/// let x = b.input("x", &[1, 256, 256, 4])?;
/// let y = b.pool("y", Pool2d::plain(PoolKind::Max, [256, 256], [1, 1], Padding::default()), x)?;
/// let graph = b.finish(&[y])?;
/// // First the maximum of each row, then that of the image.
/// let split = two_steps(&graph);
/// let shapes: Vec<Shape> = split.nodes.iter().map(|node| split.shape(node.output)).collect();
/// assert_eq!(shapes, [Shape::new(1, 256, 1, 4), Shape::new(1, 1, 1, 4)]);
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
pub fn two_steps(graph: &Graph) -> Cow<'_, Graph> {
    // Checked first, so that most graphs are not copied.
    if !graph.nodes.iter().any(|node| in_two(graph, node).is_some()) {
        return Cow::Borrowed(graph);
    }
    let mut result = Graph { nodes: Vec::with_capacity(graph.nodes.len() + 1).into(), ..graph.clone() };
    for node in &graph.nodes {
        push(&mut result, node.clone());
    }
    Cow::Owned(result)
}

/// Adds a node, split into halves if it is large. A half may be large, too, and is then split again. This ends
/// because each half has fewer axes or fewer pixels.
fn push(result: &mut Graph, node: Node) {
    let Some([first, second]) = in_two(result, &node) else {
        result.nodes.push(node);
        return;
    };
    let x = node.inputs[0];
    let shape = first.shape(result.shape(x));
    let between = result.tensors.push(Tensor::new(format!("{}/rows", result.tensors[x].name), shape));
    let (op_index, integers) = (node.op_index, node.integers);
    let epilogue = Epilogue::default();
    push(result, Node { op: first.op(), inputs: vec![x], output: between, epilogue, op_index, integers });
    push(result, Node { op: second.op(), inputs: vec![between], ..node });
}

/// One of the two nodes that replace a large node.
enum Half {
    Pool(Pool2d, [usize; 2]),
    Reduce(Reduce),
}

impl Half {
    /// Shape of the result for an operand of shape `x`.
    fn shape(&self, x: Shape) -> Shape {
        match self {
            &Self::Pool(_, [h, w]) => Shape { h, w, ..x },
            Self::Reduce(Reduce { axes, .. }) => {
                let extents = x.dims();
                std::array::from_fn(|axis| if axes[axis] { 1 } else { extents[axis] }).into()
            }
        }
    }

    fn op(self) -> Op {
        match self {
            Self::Pool(pool, _) => Op::Pool2d(pool),
            Self::Reduce(reduce) => Op::Reduce(reduce),
        }
    }
}

/// Returns the two halves of a node, if it is large and can be split.
fn in_two(graph: &Graph, node: &Node) -> Option<[Half; 2]> {
    let &[input, ..] = &node.inputs[..] else { return None };
    let (x, out) = (graph.shape(input), graph.shape(node.output));
    match &node.op {
        Op::Pool2d(pool) => pools(pool, x, out),
        Op::Reduce(reduce) => reductions(*reduce, x),
        _ => None,
    }
}

/// Splits a pool into a pool within each row, then one across rows. This works for maxima, sums, norms and pixel
/// counts.
fn pools(pool: &Pool2d, x: Shape, out: Shape) -> Option<[Half; 2]> {
    let taps = [pool.window[0].min(x.h), pool.window[1].min(x.w)];
    // A mean over the whole image is computed as a reduction.
    if taps[0] * taps[1] < LARGE_WINDOW || pool.is_mean_of(x) {
        return None;
    }
    if pool.window[0] > 1 && pool.window[1] > 1 {
        let [rows, columns] = [0, 1].map(|axis| along(pool, axis));
        return Some([Half::Pool(columns, [x.h, out.w]), Half::Pool(rows, [out.h, out.w])]);
    }
    // A window along a single axis is only split if it covers the whole axis. Averages are not split: a mean of means
    // over parts of different length would be wrong.
    let (axis, extent) = if pool.window[0] > 1 { (0, x.h) } else { (1, x.w) };
    let Padding { top, bottom, left, right } = pool.padding;
    let whole = pool.window[axis] == extent && pool.dilation[axis] == 1 && [top + bottom, left + right][axis] == 0;
    if pool.kind == PoolKind::Average || !whole {
        return None;
    }
    let length = extent.isqrt();
    let count = extent.div_ceil(length);
    let behind = count * length - extent;
    let (window, padding, between) = match axis {
        0 => ([length, 1], Padding { bottom: behind, ..Padding::default() }, [count, x.w]),
        _ => ([1, length], Padding { right: behind, ..Padding::default() }, [x.h, count]),
    };
    let parts = Pool2d::plain(pool.kind, window, window, padding);
    let mut joined = along(pool, 1 - axis);
    joined.window[axis] = count;
    Some([Half::Pool(parts, between), Half::Pool(joined, [out.h, out.w])])
}

/// Returns the part of a pool that works along one axis.
fn along(pool: &Pool2d, axis: usize) -> Pool2d {
    let of = |pair: [usize; 2]| if axis == 0 { [pair[0], 1] } else { [1, pair[1]] };
    let border = |Padding { top, bottom, left, right }: Padding| match axis {
        0 => Padding { top, bottom, ..Padding::default() },
        _ => Padding { left, right, ..Padding::default() },
    };
    Pool2d {
        kind: pool.kind,
        window: of(pool.window),
        stride: of(pool.stride),
        dilation: of(pool.dilation),
        padding: border(pool.padding),
        counted: pool.counted.map(border),
    }
}

/// Splits a reduction into one within each row, then one across rows.
fn reductions(Reduce { kind, axes: [batch, height, width, channels] }: Reduce, x: Shape) -> Option<[Half; 2]> {
    let of = |reduced: bool, extent: usize| if reduced { extent } else { 1 };
    let rows = of(batch, x.b) * of(height, x.h);
    let row_texels = of(width, x.w) * of(channels, x.slices());
    if rows == 1 || row_texels == 1 || rows * row_texels < LARGE_REGION {
        return None;
    }
    let [first, second] = match kind {
        // An index cannot be combined from the indices of two parts.
        ReduceKind::ArgMax { .. } | ReduceKind::ArgMin { .. } => return None,
        ReduceKind::SumSquare => [ReduceKind::SumSquare, ReduceKind::Sum],
        ReduceKind::L1 => [ReduceKind::L1, ReduceKind::Sum],
        ReduceKind::LogSum => [ReduceKind::Sum, ReduceKind::LogSum],
        kind @ (ReduceKind::Mean
        | ReduceKind::Sum
        | ReduceKind::Max
        | ReduceKind::Min
        | ReduceKind::Prod
        | ReduceKind::L2
        | ReduceKind::LogSumExp) => [kind, kind],
    };
    let reduce = |kind, axes| Half::Reduce(Reduce { kind, axes });
    Some([reduce(first, [false, false, width, channels]), reduce(second, [batch, height, false, false])])
}
