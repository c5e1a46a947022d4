//! Splits means over height and width, and pools that compute such means, into two nodes: a mean of each row, then a
//! mean over rows. This is not a rule, because it makes the graph larger. It allows a row's memory to be reused as
//! soon as the row is summed. Kernels and references produce the same bits for both forms.

use std::borrow::Cow;

use texpool_ops::{
    graph::{Epilogue, Graph, Node, Op, Reduce, ReduceKind, Shape, Tensor},
    ops::reduce,
};

/// Number of pixels from which every plan splits a mean over height and width.
pub const LARGE_MEAN: usize = reduce::LARGE_MEAN;

/// Splits every mean over height and width of at least `least` pixels into two nodes. Borrows the graph if nothing
/// needs splitting.
///
/// ```
/// use std::borrow::Cow;
/// use texpool::rewrite::{LARGE_MEAN, row_means};
/// use texpool::graph::{GraphBuilder, Shape};
///
/// let mut b = GraphBuilder::new("global average");
/// let x = b.input("x", &[1, 128, 128, 8])?;
/// let y = b.mean("y", [false, true, true, false], x)?;
/// let graph = b.finish(&[y])?;
/// let split = row_means(&graph, LARGE_MEAN);
/// let shapes: Vec<Shape> = split.nodes.iter().map(|node| split.shape(node.output)).collect();
/// assert_eq!(shapes, [Shape::new(1, 128, 1, 8), Shape::new(1, 1, 1, 8)]);
/// assert!(matches!(row_means(&graph, 2 * LARGE_MEAN), Cow::Borrowed(_)));
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
pub fn row_means(graph: &Graph, least: usize) -> Cow<'_, Graph> {
    let large = |shape: Shape, batch: bool| shape.h > 1 && shape.h * shape.w * if batch { shape.b } else { 1 } >= least;
    let in_two = |node: &Node| match (&node.op, &node.inputs[..]) {
        (&Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: [batch, true, true, false] }), &[x, ..])
            if large(graph.shape(x), batch) =>
        {
            Some((batch, x))
        }
        (Op::Pool2d(pool), &[x]) if pool.is_mean_of(graph.shape(x)) && large(graph.shape(x), false) => Some((false, x)),
        _ => None,
    };
    // Checked first, so that most graphs are not copied.
    if !graph.nodes.iter().any(|node| in_two(node).is_some()) {
        return Cow::Borrowed(graph);
    }
    let mut result = Graph { nodes: Vec::with_capacity(graph.nodes.len() + 1).into(), ..graph.clone() };
    for node in &graph.nodes {
        let Some((batch, x)) = in_two(node) else {
            result.nodes.push(node.clone());
            continue;
        };
        let shape = Shape { w: 1, ..graph.shape(x) };
        let name = format!("{}/rows", graph.tensors[x].name);
        let rows = result.tensors.push(Tensor::new(name, shape));
        let mean = |axes| Op::Reduce(Reduce { kind: ReduceKind::Mean, axes });
        result.nodes.push(Node {
            op: mean([false, false, true, false]),
            inputs: vec![x],
            output: rows,
            epilogue: Epilogue::default(),
            op_index: node.op_index,
            integers: None,
        });
        let op = mean([batch, true, false, false]);
        result.nodes.push(Node { op, inputs: vec![rows], ..node.clone() });
    }
    Cow::Owned(result)
}
