//! Pools of large windows and reductions of very many texels as two nodes each, along width and channels first. An
//! invocation that goes through so many texels takes long on any device, and llvmpipe ends its loops after 65535 rounds
//! without an error. No rule, because it makes the graph larger. It is the same in every plan, so that all plans give the
//! same bits.

use std::borrow::Cow;

use crate::graph::{Epilogue, Graph, Node, Op, Padding, Pool2d, PoolKind, Reduce, ReduceKind, Shape, Tensor};

/// Pixels from which on a window is large.
const LARGE_WINDOW: usize = 1 << 14;

/// Texels that are too many for the workgroup that reduces them to one.
const LARGE_REGION: usize = 1 << 20;

/// The graph with every large pool and reduction in two nodes; the graph itself where there is none.
pub fn two_steps(graph: &Graph) -> Cow<'_, Graph> {
    // Looked at first, so that most graphs are not copied.
    if !graph.nodes.iter().any(|node| in_two(graph, node).is_some()) {
        return Cow::Borrowed(graph);
    }
    let mut made = Graph { nodes: Vec::with_capacity(graph.nodes.len() + 1).into(), ..graph.clone() };
    for node in &graph.nodes {
        push(&mut made, node.clone());
    }
    Cow::Owned(made)
}

/// Adds a node, in halves where it is large. Halves may be large, too; each is so along fewer axes, or has fewer pixels.
fn push(made: &mut Graph, node: Node) {
    let Some([first, second]) = in_two(made, &node) else {
        made.nodes.push(node);
        return;
    };
    let x = node.inputs[0];
    let shape = first.shape(made.shape(x));
    let between = made.tensors.push(Tensor::new(format!("{}/rows", made.tensors[x].name), shape));
    let (op_index, integers) = (node.op_index, node.integers);
    let epilogue = Epilogue::default();
    push(made, Node { op: first.op(), inputs: vec![x], output: between, epilogue, op_index, integers });
    push(made, Node { op: second.op(), inputs: vec![between], ..node });
}

/// Half of a node.
enum Half {
    Pool(Pool2d, [usize; 2]),
    Reduce(Reduce),
}

impl Half {
    /// The shape of its result, for an operand of shape `x`.
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

/// The two halves of a node, where it is large and has any.
fn in_two(graph: &Graph, node: &Node) -> Option<[Half; 2]> {
    let &[input, ..] = &node.inputs[..] else { return None };
    let (x, out) = (graph.shape(input), graph.shape(node.output));
    match &node.op {
        Op::Pool2d(pool) => pools(pool, x, out),
        Op::Reduce(reduce) => reductions(*reduce, x),
        _ => None,
    }
}

/// A pool of each row, then of the rows: greatest values, sums, norms and numbers of pixels can all be put together so.
fn pools(pool: &Pool2d, x: Shape, out: Shape) -> Option<[Half; 2]> {
    let taps = [pool.window[0].min(x.h), pool.window[1].min(x.w)];
    // A mean of the whole image is computed as a reduction.
    if taps[0] * taps[1] < LARGE_WINDOW || pool.is_mean_of(x) {
        return None;
    }
    if pool.window[0] > 1 && pool.window[1] > 1 {
        let [rows, columns] = [0, 1].map(|axis| along(pool, axis));
        return Some([Half::Pool(columns, [x.h, out.w]), Half::Pool(rows, [out.h, out.w])]);
    }
    // A window along one axis is cut where it is the whole axis. Means of parts that differ in length are no mean.
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

/// What a pool does along one axis.
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

/// A reduction within each row, then of the rows.
fn reductions(Reduce { kind, axes: [batch, height, width, channels] }: Reduce, x: Shape) -> Option<[Half; 2]> {
    let of = |reduced: bool, extent: usize| if reduced { extent } else { 1 };
    let rows = of(batch, x.b) * of(height, x.h);
    let row_texels = of(width, x.w) * of(channels, x.slices());
    if rows == 1 || row_texels == 1 || rows * row_texels < LARGE_REGION {
        return None;
    }
    let [first, second] = match kind {
        // Where the best value lies, its index in two parts would not say.
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
