//! Splits nodes that no single step can run into several that can. This is not a rule: it cannot be switched off, and
//! a graph that needs no splitting is left unchanged.
//!
//! A texel holds four channels, and one step can combine at most two computed tensors in it. A concatenation along
//! channels where more of them meet in one texel becomes a chain: neighbouring parts are joined into a tensor first.
//! If a kernel can read an operand only as a computed tensor and the operand is a constant, a concatenation of the
//! constant alone computes it.

use std::borrow::Cow;

use texpool_ops::{
    graph::{Concat, Epilogue, Graph, Node, Op, Shape, Tensor, TensorId},
    ops::{self, ConstantOperands},
};

/// Number of computed tensors that one step can combine in a texel. Core WebGPU allows four storage textures per
/// stage, and output and weights take two of them.
const MAX_COMPUTED_PER_TEXEL: usize = 2;

/// Splits all nodes that need it. Borrows the graph if nothing needs splitting.
///
/// ```
/// use texpool::rewrite::split;
/// use texpool::graph::{GraphBuilder, Shape};
///
/// let mut b = GraphBuilder::new("three in a texel");
/// let parts = [b.input("red", &[1, 8, 8, 1])?, b.input("green", &[1, 8, 8, 1])?, b.input("blue", &[1, 8, 8, 1])?];
/// let y = b.concat("colours", 3, &parts)?;
/// let graph = b.finish(&[y])?;
/// let split = split(&graph);
/// let shapes: Vec<Shape> = split.nodes.iter().map(|node| split.shape(node.output)).collect();
/// assert_eq!(shapes, [Shape::new(1, 8, 8, 2), Shape::new(1, 8, 8, 3)]);
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
pub fn split(graph: &Graph) -> Cow<'_, Graph> {
    let must = |node: &Node| needs_tensor(graph, node) || is_crowded(graph, node);
    if !graph.nodes.iter().any(must) {
        return Cow::Borrowed(graph);
    }
    let mut result = Graph { nodes: Vec::with_capacity(graph.nodes.len() + 1).into(), ..graph.clone() };
    for node in &graph.nodes {
        let mut node = node.clone();
        if is_crowded(graph, &node) {
            node.inputs = uncrowded(&mut result, &node);
        }
        while needs_tensor(&result, &node) {
            node.inputs[0] = join(&mut result, &node, &node.inputs[..1]);
        }
        result.nodes.push(node);
    }
    Cow::Owned(result)
}

/// Returns whether too many computed parts meet in some texel.
fn is_crowded(graph: &Graph, node: &Node) -> bool {
    let Op::Concat(Concat { axis: 3 }) = node.op else { return false };
    let mut parts = Parts::default();
    node.inputs.iter().any(|&tensor| parts.push(graph, tensor).is_some())
}

/// Parts of a concatenation along channels while they are appended one after another.
#[derive(Default)]
struct Parts {
    all: Vec<Part>,
    /// Number of channels appended.
    end: usize,
    /// Parts that reach into the current texel. There are at most four, as no part is empty.
    open: Vec<usize>,
}

/// A part, and the state before it was appended, so that it can be removed again.
struct Part {
    tensor: TensorId,
    begin: usize,
    open: Vec<usize>,
}

impl Parts {
    /// Appends a part. If too many computed parts meet in a texel, returns the first and the last of the parts to
    /// join.
    fn push(&mut self, graph: &Graph, tensor: TensorId) -> Option<[usize; 2]> {
        let (begin, at) = (self.end, self.all.len());
        self.end += graph.shape(tensor).c;
        self.all.push(Part { tensor, begin, open: self.open.clone() });
        if begin == self.end {
            return None;
        }
        // A part that begins at a texel boundary shares no texel with earlier parts.
        if begin % 4 == 0 {
            self.open.clear();
        }
        self.open.push(at);
        let computed = |&&part: &&usize| !graph.is_constant(self.all[part].tensor);
        if self.open.iter().filter(computed).count() > MAX_COMPUTED_PER_TEXEL {
            // With three computed parts and at most one constant, two neighbours are never both constants.
            return Some([self.open[0], self.open[1]]);
        }
        // Later parts can only share a texel with the part that reaches into its end.
        if begin / 4 != self.end / 4 {
            self.open = vec![at];
        }
        None
    }

    /// Removes all parts from index `from` on and returns them.
    fn pop_from(&mut self, from: usize) -> Vec<TensorId> {
        let removed = self.all.split_off(from);
        if let Some(first) = removed.first() {
            (self.end, self.open) = (first.begin, first.open.clone());
        }
        removed.into_iter().map(|part| part.tensor).collect()
    }
}

/// Returns the operands of a concatenation after joining those that share a texel with too many others. Adds the
/// joining nodes to the graph.
fn uncrowded(graph: &mut Graph, node: &Node) -> Vec<TensorId> {
    let mut parts = Parts::default();
    // A stack, onto which joined parts are pushed again. Each join leaves one part fewer, so the loop ends.
    let mut rest: Vec<TensorId> = node.inputs.iter().rev().copied().collect();
    while let Some(tensor) = rest.pop() {
        if let Some([first, last]) = parts.push(graph, tensor) {
            // The parts behind the two are pushed as well, because they have different neighbours now.
            let behind = parts.pop_from(last + 1);
            rest.extend(behind.into_iter().rev());
            let joined = parts.pop_from(first);
            rest.push(join(graph, node, &joined));
        }
    }
    parts.all.into_iter().map(|part| part.tensor).collect()
}

/// Returns whether the first operand is a constant that must first be computed into a tensor.
fn needs_tensor(graph: &Graph, node: &Node) -> bool {
    let constant = |operand: usize| node.inputs.get(operand).is_some_and(|&tensor| graph.is_constant(tensor));
    match ops::properties(graph, node).constants {
        ConstantOperands::Any => false,
        ConstantOperands::OneOfTwo => constant(0) && constant(1),
        ConstantOperands::AfterFirst => constant(0),
    }
}

/// Adds a node that concatenates operands of `node` along their channels, and returns its result.
fn join(graph: &mut Graph, node: &Node, joined: &[TensorId]) -> TensorId {
    let channels = joined.iter().map(|&tensor| graph.shape(tensor).c).sum();
    let shape = Shape { c: channels, ..graph.shape(joined[0]) };
    let name = format!("{}/joined", graph.tensors[node.output].name);
    let id = graph.tensors.push(Tensor::new(name, shape));
    let (op, inputs) = (Op::Concat(Concat { axis: 3 }), joined.to_vec());
    graph.nodes.push(Node {
        op,
        inputs,
        output: id,
        epilogue: Epilogue::default(),
        op_index: node.op_index,
        integers: None,
    });
    id
}
