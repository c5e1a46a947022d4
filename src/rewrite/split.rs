//! Makes nodes that no single step can run into several that can. This is no rule: it cannot be switched off, and a
//! graph in which nothing must be split stays as it is.
//!
//! A texel is four channels and is put together in one step out of two computed tensors at most. A concatenation along
//! channels in which more meet in one texel becomes a chain: two parts that meet are joined into a tensor first.
//! Where a constant stands that a kernel can only read as a computed tensor, a concatenation of it alone computes it.

use std::borrow::Cow;

use crate::{
    graph::{Concat, Epilogue, Graph, Node, Op, Shape, Tensor, TensorId},
    ops::{self, ConstantOperands},
};

/// Computed tensors that one step can combine in a texel: core WebGPU allows four storage textures a stage, and output
/// and weights take two of them.
const MAX_COMPUTED_PER_TEXEL: usize = 2;

/// Splits what must be split.
pub fn split(graph: &Graph) -> Cow<'_, Graph> {
    let must = |node: &Node| needs_tensor(graph, node) || is_crowded(graph, node);
    if !graph.nodes.iter().any(must) {
        return Cow::Borrowed(graph);
    }
    let mut made = Graph { nodes: Vec::with_capacity(graph.nodes.len() + 1).into(), ..graph.clone() };
    for node in &graph.nodes {
        let mut node = node.clone();
        if is_crowded(graph, &node) {
            node.inputs = uncrowded(&mut made, &node);
        }
        while needs_tensor(&made, &node) {
            node.inputs[0] = join(&mut made, &node, &node.inputs[..1]);
        }
        made.nodes.push(node);
    }
    Cow::Owned(made)
}

/// Whether too many computed parts meet in some texel.
fn is_crowded(graph: &Graph, node: &Node) -> bool {
    let Op::Concat(Concat { axis: 3 }) = node.op else { return false };
    let mut parts = Parts::default();
    node.inputs.iter().any(|&tensor| parts.push(graph, tensor).is_some())
}

/// Parts of a concatenation along channels while they are appended one after another.
#[derive(Default)]
struct Parts {
    all: Vec<Part>,
    /// Channels so far.
    end: usize,
    /// Which parts reach into the texel that is being filled: four at most, as none of them is empty.
    open: Vec<usize>,
}

/// A part, and the state before it was appended, to return to.
struct Part {
    tensor: TensorId,
    begin: usize,
    open: Vec<usize>,
}

impl Parts {
    /// Appends a part. Answers the first and the last of those to be joined, if too many computed ones meet in a texel.
    fn push(&mut self, graph: &Graph, tensor: TensorId) -> Option<[usize; 2]> {
        let (begin, at) = (self.end, self.all.len());
        self.end += graph.shape(tensor).c;
        self.all.push(Part { tensor, begin, open: self.open.clone() });
        if begin == self.end {
            return None;
        }
        // A part that begins with a texel meets nothing in front of it.
        if begin % 4 == 0 {
            self.open.clear();
        }
        self.open.push(at);
        let computed = |&&part: &&usize| !graph.is_constant(self.all[part].tensor);
        if self.open.iter().filter(computed).count() > MAX_COMPUTED_PER_TEXEL {
            // Of three computed parts and one constant at most, two neighbours are never both constants.
            return Some([self.open[0], self.open[1]]);
        }
        // Only the part that reaches into a texel's end meets what follows in it.
        if begin / 4 != self.end / 4 {
            self.open = vec![at];
        }
        None
    }

    /// Removes the parts from `from` on and answers them.
    fn pop_from(&mut self, from: usize) -> Vec<TensorId> {
        let taken = self.all.split_off(from);
        if let Some(first) = taken.first() {
            (self.end, self.open) = (first.begin, first.open.clone());
        }
        taken.into_iter().map(|part| part.tensor).collect()
    }
}

/// The operands of a concatenation, those that meet with too many others joined by nodes that are added.
fn uncrowded(graph: &mut Graph, node: &Node) -> Vec<TensorId> {
    let mut parts = Parts::default();
    // A stack, on which joined parts are put back. Each join leaves one part fewer, so this ends.
    let mut rest: Vec<TensorId> = node.inputs.iter().rev().copied().collect();
    while let Some(tensor) = rest.pop() {
        if let Some([first, last]) = parts.push(graph, tensor) {
            // What stands behind the two goes back as well: it meets other parts now.
            let behind = parts.pop_from(last + 1);
            rest.extend(behind.into_iter().rev());
            let joined = parts.pop_from(first);
            rest.push(join(graph, node, &joined));
        }
    }
    parts.all.into_iter().map(|part| part.tensor).collect()
}

/// Whether the first operand is a constant that must be computed.
fn needs_tensor(graph: &Graph, node: &Node) -> bool {
    let constant = |operand: usize| node.inputs.get(operand).is_some_and(|&tensor| graph.is_constant(tensor));
    match ops::properties(graph, node).constants {
        ConstantOperands::Any => false,
        ConstantOperands::OneOfTwo => constant(0) && constant(1),
        ConstantOperands::AfterFirst => constant(0),
    }
}

/// Adds the node that concatenates operands of a node along their channels; gives its result.
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
