//! Divides the first layers of a network into patches: each computes some columns of a tensor, from the columns of the
//! inputs that these need. A plan that runs one patch after the other keeps narrower rows alive.
//!
//! This is patch-based inference (Lin, Chen, Cai, Gan and Han, "MCUNetV2: Memory-Efficient Patch-based Inference for
//! Tiny Deep Learning", 2021, arXiv:2110.15352) along one axis; stripes of rows divide the other. Columns that two patches
//! need are computed in both. Each column is computed as in the undivided layers, so the results have the same bits.
//!
//! This is not a rule, because it adds nodes and work. The search for the smallest plan tries it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{Report, Rewritten, Rules, context::RewriteContext, free_nodes, separable::producers_and_reads};
use texpool_ops::graph::{
    Act, Concat, Conv2d, DepthwiseConv2d, Epilogue, Graph, IdVec, Node, NodeId, Op, Padding, Pool2d, Shape,
    StridedSlice, Tensor, TensorId,
};

/// A division into patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Patches {
    /// The tensor that the patches compute, in the rewritten graph.
    pub end: TensorId,
    /// Number of patches.
    pub parts: usize,
}

/// Limit on the nodes of graphs that are divided. Each end is examined with all nodes before it, which is quadratic. The
/// catalogue's largest network has about 700 nodes.
const MAX_NODES: usize = 4_096;

/// Limit on the number of patches. Each has all nodes of the divided layers, so a saved plan must not ask for thousands.
const MAX_PARTS: usize = 16;

/// Returns the tensors at which patches can end, in the order in which they are computed: those that depend on inputs
/// alone, through operators that compute columns from columns, and whose other results no one else reads.
///
/// ```
/// use texpool_model::rewrite::{Rules, patch_ends, rewrite};
/// use texpool_ops::graph::{Act, Conv2d, GraphBuilder, Padding, Unary};
///
/// let mut b = GraphBuilder::new("two layers");
/// let x = b.input("x", &[1, 32, 32, 4])?;
/// let weights = b.constant("weights", &[8, 3, 3, 4], &[0.5; 8 * 3 * 3 * 4])?;
/// let padding = Padding { top: 1, bottom: 1, left: 1, right: 1 };
/// let conv = Conv2d { stride: [2, 2], dilation: [1, 1], padding, groups: 1 };
/// let y = b.conv2d("y", conv, x, weights, None, Act::Unary(Unary::Relu))?;
/// let mean = b.mean("mean", [false, true, true, false], y)?;
/// let rewritten = rewrite(&b.finish(&[mean])?, &Rules::default());
/// // The mean reads all columns, so that it is no part of a patch.
/// assert_eq!(patch_ends(&rewritten.graph), [y]);
/// # Ok::<(), texpool_ops::graph::BuildError>(())
/// ```
pub fn patch_ends(graph: &Graph) -> Vec<TensorId> {
    let Some(layers) = Layers::new(graph) else { return Vec::new() };
    let ends = graph.nodes.iter().map(|node| node.output);
    ends.filter(|&end| layers.before(end).is_some()).collect()
}

/// Divides the layers before a tensor into patches. Returns `None` if they cannot be divided so.
pub fn patched(rewritten: &Rewritten, rules: &Rules, patches: Patches) -> Option<Rewritten> {
    let graph = &rewritten.graph;
    let nodes = Layers::new(graph)?.before(patches.end)?;
    let graph = Division::new(graph, &nodes).divided(patches)?;
    let ctx = RewriteContext::new(graph);
    // The reasons for nodes that need a step are those of the undivided graph.
    let (views, in_place) = free_nodes(&ctx, rules, &mut Report::default());
    let report = Report { nodes_after: ctx.graph.nodes.len() - views.len(), ..rewritten.report.clone() };
    Some(Rewritten { graph: ctx.graph, views, in_place, report })
}

/// The nodes that can be divided, and the links between all nodes.
struct Layers<'a> {
    graph: &'a Graph,
    producer: IdVec<TensorId, Option<NodeId>>,
    /// Number of times that a tensor is read, by the caller included.
    reads: IdVec<TensorId, usize>,
    /// Nodes that depend on inputs through divisible nodes alone.
    divisible: IdVec<NodeId, bool>,
}

impl<'a> Layers<'a> {
    /// Returns `None` for graphs that are not divided: those with too many nodes, or with extents that a run finds.
    fn new(graph: &'a Graph) -> Option<Self> {
        if graph.nodes.len() > MAX_NODES || !graph.bounded_inputs.is_empty() || !graph.bounded.is_empty() {
            return None;
        }
        let (producer, reads) = producers_and_reads(graph);
        let mut divisible = IdVec::from_elem(false, &graph.nodes);
        for (id, node) in graph.nodes.iter_enumerated() {
            let known = |operand: TensorId| {
                graph.is_constant(operand)
                    || producer[operand].map_or(graph.inputs.contains(&operand), |before| divisible[before])
            };
            divisible[id] = Columns::of(graph, node).is_some() && node.operands().all(known);
        }
        Some(Self { graph, producer, reads, divisible })
    }

    /// Returns the nodes that a tensor depends on, in order. `None` if they cannot be divided, if their results are read
    /// elsewhere, or if dividing them saves nothing.
    fn before(&self, end: TensorId) -> Option<Vec<NodeId>> {
        let mut nodes = BTreeSet::new();
        // A saved plan may name a tensor that does not exist.
        let mut waiting = vec![(*self.producer.get(end)?)?];
        while let Some(id) = waiting.pop() {
            if !self.divisible[id] {
                return None;
            }
            if nodes.insert(id) {
                waiting.extend(self.graph.nodes[id].operands().filter_map(|operand| self.producer[operand]));
            }
        }
        let mut inside: BTreeMap<TensorId, usize> = BTreeMap::new();
        for operand in nodes.iter().flat_map(|&id| self.graph.nodes[id].operands()) {
            *inside.entry(operand).or_default() += 1;
        }
        let is_read_inside = |&id: &NodeId| {
            let result = self.graph.nodes[id].output;
            result == end || inside.get(&result) == Some(&self.reads[result])
        };
        let is_whole = nodes.iter().all(is_read_inside);
        (is_whole && nodes.iter().any(|&id| self.widens(id))).then(|| nodes.into_iter().collect())
    }

    /// Returns whether a layer reads more than one column for a column of its result. Without such layers, dividing saves
    /// nothing that stripes would not.
    fn widens(&self, id: NodeId) -> bool {
        let columns = Columns::of(self.graph, &self.graph.nodes[id]);
        matches!(columns, Some(Columns::Window(window)) if window.reach() > 1)
    }
}

/// The columns of its operands that a node reads for a column of its result.
enum Columns {
    /// The column with the same number.
    Same,
    /// Columns of the first operand under a window.
    Window(Window),
}

/// A window that moves along the columns.
#[derive(Clone, Copy)]
struct Window {
    taps: usize,
    stride: usize,
    dilation: usize,
    /// Columns before the first one that windows reach into.
    left: usize,
}

impl Window {
    /// Returns the columns from the first to the last tap.
    const fn reach(self) -> usize {
        (self.taps - 1) * self.dilation + 1
    }

    /// Returns the columns of an operand with `width` columns that the columns `to` of the result need, and the padding
    /// before and after them. `None` if they are padding only.
    fn reads(self, to: &Range<usize>, width: usize) -> Option<(Range<usize>, [usize; 2])> {
        let (first, last) = (to.start * self.stride, (to.end - 1) * self.stride + self.reach());
        // Both ends are counted from the first column of the padding.
        let (start, end) = (first.saturating_sub(self.left), last.saturating_sub(self.left).min(width));
        let padding = [self.left.saturating_sub(first), last.saturating_sub(self.left + width)];
        (start < end).then_some((start..end, padding))
    }
}

impl Columns {
    /// Returns `None` for nodes that read other columns, or for which this is not known.
    fn of(graph: &Graph, node: &Node) -> Option<Self> {
        let width = graph.shape(node.output).w;
        // An operand that is repeated along the columns must be a constant, which every patch reads whole.
        let repeats = |operand: TensorId| graph.is_constant(operand) && graph.shape(operand).w == 1;
        let same =
            |operand: TensorId| repeats(operand) || !graph.is_constant(operand) && graph.shape(operand).w == width;
        let is_plain = node.epilogue.add.is_none_or(same)
            && [node.epilogue.first, node.epilogue.then].into_iter().filter_map(Act::constant).all(repeats);
        let window = |window: Window| {
            let [x, constants @ ..] = &node.inputs[..] else { return None };
            let is_window = !graph.is_constant(*x) && constants.iter().all(|&constant| graph.is_constant(constant));
            (is_window && window.taps > 0).then_some(Self::Window(window))
        };
        let of_conv = |conv: &Conv2d| {
            let taps = node.inputs.get(1).map_or(0, |&weights| graph.shape(weights).w);
            window(Window { taps, stride: conv.stride[1], dilation: conv.dilation[1], left: conv.padding.left })
        };
        let columns = match &node.op {
            Op::Conv2d(conv) | Op::DepthwiseConv2d(DepthwiseConv2d(conv)) => of_conv(conv)?,
            Op::Pool2d(Pool2d { window: [_, taps], stride, dilation, padding, .. }) => {
                window(Window { taps: *taps, stride: stride[1], dilation: dilation[1], left: padding.left })?
            }
            Op::Binary(_) | Op::QuantizedAdd(_) | Op::Unary(_) | Op::Prelu => {
                node.inputs.iter().all(|&operand| same(operand)).then_some(Self::Same)?
            }
            Op::Concat(Concat { axis: 1 | 3 }) | Op::Softmax(_) | Op::Lrn(_) => {
                let computed = |&operand: &TensorId| !graph.is_constant(operand) && same(operand);
                node.inputs.iter().all(computed).then_some(Self::Same)?
            }
            _ => return None,
        };
        is_plain.then_some(columns)
    }
}

/// Returns the operator with other columns of padding.
fn with_padding(op: &Op, [left, right]: [usize; 2]) -> Op {
    let of = |padding: Padding| Padding { left, right, ..padding };
    let conv = |conv: &Conv2d| Conv2d { padding: of(conv.padding), ..*conv };
    match op {
        Op::Conv2d(inner) => conv(inner).into(),
        Op::DepthwiseConv2d(DepthwiseConv2d(inner)) => DepthwiseConv2d(conv(inner)).into(),
        Op::Pool2d(pool) => {
            let counted = pool.counted.map(|counted| Padding {
                left: counted.left.min(left),
                right: counted.right.min(right),
                ..counted
            });
            Pool2d { padding: of(pool.padding), counted, ..*pool }.into()
        }
        other => other.clone(),
    }
}

/// The divided graph while it is built.
struct Division<'a> {
    from: &'a Graph,
    /// The nodes to divide, in order.
    nodes: &'a [NodeId],
    /// All tensors, then those of the patches.
    tensors: IdVec<TensorId, Tensor>,
    built: Vec<Node>,
}

/// A tensor of a patch.
#[derive(Clone)]
struct Part {
    tensor: TensorId,
    /// The columns that it has of the undivided one.
    columns: Range<usize>,
}

impl<'a> Division<'a> {
    fn new(from: &'a Graph, nodes: &'a [NodeId]) -> Self {
        Self { from, nodes, tensors: from.tensors.clone(), built: Vec::new() }
    }

    fn divided(mut self, Patches { end, parts }: Patches) -> Option<Graph> {
        let width = self.from.shape(end).w;
        if !(2..=MAX_PARTS.min(width)).contains(&parts) {
            return None;
        }
        let columns = |part: usize| width * part / parts..width * (part + 1) / parts;
        let inputs = (0..parts).map(|part| self.patch(end, columns(part))).collect::<Option<Vec<_>>>()?;
        let last = &self.from.nodes[*self.nodes.last()?];
        let joined = Node {
            op: Concat { axis: 2 }.into(),
            inputs,
            output: end,
            epilogue: Epilogue::default(),
            op_index: last.op_index,
            integers: last.integers,
        };
        let divided: BTreeSet<NodeId> = self.nodes.iter().copied().collect();
        let others = self.from.nodes.iter_enumerated().filter(|(id, _)| !divided.contains(id));
        self.built.push(joined);
        self.built.extend(others.map(|(_, node)| node.clone()));
        Some(Graph { tensors: self.tensors, nodes: self.built.into(), ..self.from.clone() })
    }

    /// Adds the nodes that compute some columns of a tensor, and returns the tensor with these.
    fn patch(&mut self, end: TensorId, columns: Range<usize>) -> Option<TensorId> {
        let from = self.from;
        // The columns of each result that later nodes read, all together.
        let mut needed = BTreeMap::from([(end, columns)]);
        for &id in self.nodes.iter().rev() {
            let node = &from.nodes[id];
            let to = needed.get(&node.output)?.clone();
            for operand in node.operands().filter(|&operand| !from.is_constant(operand)) {
                let (reads, _) = self.reads(node, operand, &to)?;
                let all = needed.entry(operand).or_insert_with(|| reads.clone());
                *all = all.start.min(reads.start)..all.end.max(reads.end);
            }
        }
        let mut parts: BTreeMap<TensorId, Part> = BTreeMap::new();
        for &id in self.nodes {
            let node = &from.nodes[id];
            let to = needed.get(&node.output)?.clone();
            let mut part = node.clone();
            for (index, &operand) in node.inputs.iter().enumerate() {
                let (reads, padding) = self.reads(node, operand, &to)?;
                if index == 0 {
                    part.op = with_padding(&node.op, padding);
                }
                part.inputs[index] = self.operand(node.op_index, operand, reads, &parts);
            }
            if let Some(add) = node.epilogue.add {
                part.epilogue.add = Some(self.operand(node.op_index, add, to.clone(), &parts));
            }
            part.output = self.tensor(node.output, &to);
            parts.insert(node.output, Part { tensor: part.output, columns: to });
            self.built.push(part);
        }
        parts.get(&end).map(|part| part.tensor)
    }

    /// Returns the columns of an operand that a node reads to compute the columns `to`, and the padding that it adds.
    fn reads(&self, node: &Node, operand: TensorId, to: &Range<usize>) -> Option<(Range<usize>, [usize; 2])> {
        match Columns::of(self.from, node)? {
            Columns::Window(window) if node.inputs.first() == Some(&operand) => {
                window.reads(to, self.from.shape(operand).w)
            }
            Columns::Window(_) | Columns::Same => Some((to.clone(), [0, 0])),
        }
    }

    /// Returns the tensor with some columns of an operand of node `op_index`, and adds a node that cuts them out if
    /// necessary.
    fn operand(
        &mut self,
        op_index: usize,
        operand: TensorId,
        columns: Range<usize>,
        parts: &BTreeMap<TensorId, Part>,
    ) -> TensorId {
        if self.from.is_constant(operand) {
            return operand;
        }
        let whole = || Part { tensor: operand, columns: 0..self.from.shape(operand).w };
        let part = parts.get(&operand).cloned().unwrap_or_else(whole);
        if part.columns == columns {
            return part.tensor;
        }
        let output = self.tensor(operand, &columns);
        let begin = [0, 0, columns.start - part.columns.start, 0];
        self.built.push(Node {
            op: StridedSlice { begin, stride: [1; 4] }.into(),
            inputs: vec![part.tensor],
            output,
            epilogue: Epilogue::default(),
            op_index,
            integers: None,
        });
        output
    }

    /// Adds a tensor with some columns of another.
    fn tensor(&mut self, of: TensorId, columns: &Range<usize>) -> TensorId {
        let of = &self.from.tensors[of];
        let name = format!("{}/columns {}..{}", of.name, columns.start, columns.end);
        let tensor = Tensor::new(name, Shape { w: columns.len(), ..of.shape });
        let (element_type, quantization, integer_range) = (of.element_type, of.quantization, of.integer_range);
        self.tensors.push(Tensor { element_type, quantization, integer_range, ..tensor })
    }
}
