//! Sorts the segments of large reductions, so that a result searches for its own pixels instead of comparing all. A run
//! sorts rows of segments, because a workgroup sorts a row at once, and a result searches every row. Constant segments
//! are sorted here, as one row. This is not a rule, because it makes the graph larger. It is applied in every plan, so
//! that all plans produce the same bits.

use std::{borrow::Cow, collections::HashMap};

use texpool_ops::graph::{
    Binary, Concat, Constant, Epilogue, GatherElements, Graph, Node, Op, Pad, PadMode, SegmentReduce, Shape, Tensor,
    TensorId, TopK, Unary,
};

/// Segments of a row that is sorted in a run.
const ROW: usize = 1024;

/// Number of reads of segments from which they are sorted. On lavapipe, sorting is faster from a quarter of it.
const MANY_READS: usize = 1 << 20;

/// Sorts the segments of every large reduction of segments, and all constant ones, which kernels do not read unsorted.
/// Borrows the graph if it has no such reduction. Texels hold every integer up to `most`.
///
/// ```
/// use texpool::rewrite::sorted_segments;
/// use texpool::graph::{Act, GraphBuilder, Op, SegmentKind, SegmentReduce};
///
/// let mut b = GraphBuilder::new("messages");
/// let (x, nodes) = (b.input("x", &[1, 1, 9000, 32])?, b.input("nodes", &[1, 1, 1, 9000])?);
/// let sums = Op::SegmentReduce(SegmentReduce { kind: SegmentKind::Sum, sorted: false });
/// let y = b.node_to("y", sums, &[x, nodes], &[1, 1, 2000, 32], Act::None)?;
/// let graph = sorted_segments(&b.finish(&[y])?, 1 << 24).into_owned();
/// let last = graph.nodes.iter().last().map(|node| node.op.clone());
/// assert!(matches!(last, Some(Op::SegmentReduce(SegmentReduce { sorted: true, .. }))));
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
pub fn sorted_segments(graph: &Graph, most: u32) -> Cow<'_, Graph> {
    if !graph.nodes.iter().any(|node| should_sort(graph, node)) {
        return Cow::Borrowed(graph);
    }
    let mut result = Graph { nodes: Vec::with_capacity(graph.nodes.len() + 10).into(), ..graph.clone() };
    let mut lists = HashMap::new();
    for node in &graph.nodes {
        let mut node = node.clone();
        if should_sort(graph, &node)
            && let Op::SegmentReduce(SegmentReduce { sorted, .. }) = &mut node.op
        {
            *sorted = true;
            let (segments, places) = (node.inputs[1], graph.shape(node.output).w);
            // Layers of a network read the same segments.
            let list = lists.entry((segments, places)).or_insert_with(|| {
                Listing { graph: &mut result, most: most as usize, op_index: node.op_index }.sorted(segments, places)
            });
            node.inputs[1] = *list;
        }
        result.nodes.push(node);
    }
    Cow::Owned(result)
}

/// Returns whether a node reduces unsorted segments that are constant, or many of which would be read.
fn should_sort(graph: &Graph, node: &Node) -> bool {
    let (Op::SegmentReduce(SegmentReduce { sorted: false, .. }), &[_, segments]) = (&node.op, &node.inputs[..]) else {
        return false;
    };
    let reads = graph.shape(node.output).texels().saturating_mul(graph.shape(segments).slices());
    reads >= MANY_READS || graph.is_constant(segments)
}

/// Adds the nodes that sort segments.
struct Listing<'g> {
    graph: &'g mut Graph,
    most: usize,
    /// Position of the reduction in the file.
    op_index: usize,
}

impl Listing<'_> {
    /// Returns the lists of a row of segments, of which `places` exist.
    fn sorted(&mut self, segments: TensorId, places: usize) -> TensorId {
        match self.graph.tensors[segments].constant.as_ref().map(|constant| constant.to_f32().into_owned()) {
            Some(segments) => self.sorted_now(segments, places as f32),
            None => self.sorted_in_a_run(segments, places as f32),
        }
    }

    fn sorted_now(&mut self, mut segments: Vec<f32>, places: f32) -> TensorId {
        let size = segments.len().min(self.most);
        segments.iter_mut().filter(|own| **own < 0.0).for_each(|own| *own += places);
        segments.resize(segments.len().next_multiple_of(size), -1.0);
        let mut lists = Vec::with_capacity(2 * segments.len());
        for row in segments.chunks(size) {
            let mut order: Vec<usize> = (0..size).collect();
            order.sort_by(|&a, &b| row[a].total_cmp(&row[b]));
            lists.extend(order.iter().map(|&place| row[place]));
            lists.extend(order.iter().map(|&place| place as f32));
        }
        let shape = Shape::new(1, segments.len() / size, 2, size);
        let lists = self.constant(&lists, shape);
        // Concatenations can read constants, so one with a single operand is a copy.
        self.node(Op::Concat(Concat { axis: 3 }), &[lists], shape)
    }

    fn sorted_in_a_run(&mut self, segments: TensorId, places: f32) -> TensorId {
        let row = self.graph.shape(segments);
        let number = row.c;
        let size = number.min(ROW);
        let rows = number.div_ceil(size);
        // Segments that do not exist become one number on each side, so that sums are exact. The lower one may be rounded
        // to the next number, and is negative even then.
        let clip = Op::Unary(Unary::Clip { min: -2.0 - places, max: places });
        let own = self.node(clip, &[segments], row);
        let (zero, count) =
            (self.constant(&[0.0], Shape::new(1, 1, 1, 1)), self.constant(&[places], Shape::new(1, 1, 1, 1)));
        let is_negative = self.node(Op::Binary(Binary::Less), &[own, zero], row);
        let added = self.node(Op::Binary(Binary::ZeroUnless), &[is_negative, count], row);
        let own = self.node(Op::Binary(Binary::Add), &[own, added], row);
        let all = Shape { c: rows * size, ..row };
        let missing = [0, 0, 0, (all.c - number) as isize];
        let own = match missing[3] {
            0 => own,
            _ => self.node(Op::Pad(Pad { before: [0; 4], after: missing, mode: PadMode::Constant(-1.0) }), &[own], all),
        };
        let square = Shape::new(1, rows, 1, size);
        let own = self.node(Op::Reshape, &[own], square);
        let order = self.node(Op::TopK(TopK { k: size, largest: false, indices: true }), &[own], square);
        let own = self.node(Op::GatherElements(GatherElements { axis: 3 }), &[own, order], square);
        self.node(Op::Concat(Concat { axis: 2 }), &[own, order], Shape { w: 2, ..square })
    }

    fn constant(&mut self, values: &[f32], shape: Shape) -> TensorId {
        let mut tensor = Tensor::new("segments/constant", shape);
        tensor.constant = Some(Constant::from_f32(values));
        self.graph.tensors.push(tensor)
    }

    fn node(&mut self, op: Op, inputs: &[TensorId], shape: Shape) -> TensorId {
        let output = self.graph.tensors.push(Tensor::new("segments/sorted", shape));
        let (inputs, op_index) = (inputs.to_vec(), self.op_index);
        self.graph.nodes.push(Node { op, inputs, output, epilogue: Epilogue::default(), op_index, integers: None });
        output
    }
}
