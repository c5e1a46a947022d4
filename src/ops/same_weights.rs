//! Finds nodes whose kernels read the same packed weights, so that these are packed, stored and uploaded only once.

use std::collections::HashMap;

use super::{weights::weight_sections, words::packed_weight_texels};
use crate::{
    graph::{Act, Bytes, Graph, IdVec, Node, NodeId, TensorId},
    kernels::{WeightPacking, WeightSections},
};

/// Minimum size in bytes of a constant whose readers are compared.
const MIN_BYTES: usize = 1 << 10;

/// Returns the first node with the same packed weights for each node; this is the node itself if no earlier node has
/// them. Compares only nodes for which `stored` returns true, and only if they read constants with the same bytes.
/// The graph must have gone through [`share_constants`](crate::graph::share_constants).
pub(crate) fn same_weights(
    graph: &Graph,
    packings: &IdVec<NodeId, WeightPacking>,
    stored: impl Fn(NodeId) -> bool,
) -> IdVec<NodeId, NodeId> {
    let mut firsts: IdVec<NodeId, NodeId> = graph.nodes.ids().collect();
    let mut readers: HashMap<(usize, usize), Vec<NodeId>> = HashMap::new();
    for (id, node) in graph.nodes.iter_enumerated().filter(|&(id, _)| stored(id)) {
        let constants = node.operands().filter_map(|tensor| graph.tensors[tensor].constant.as_ref());
        let largest = constants.map(|constant| &constant.bytes).max_by_key(|bytes| bytes.len());
        if let Some(identity) = largest.filter(|bytes| bytes.len() >= MIN_BYTES).and_then(Bytes::identity) {
            readers.entry(identity).or_default().push(id);
        }
    }
    for nodes in readers.into_values().filter(|nodes| nodes.len() > 1) {
        let mut known: Vec<(WeightIdentity<'_>, NodeId)> = Vec::new();
        for id in nodes {
            let identity = WeightIdentity::of(graph, id, packings);
            match known.iter().find(|(other, _)| *other == identity) {
                Some(&(_, first)) => firsts[id] = first,
                None => known.push((identity, id)),
            }
        }
    }
    firsts
}

/// The inputs that determine the packed weights of a node.
struct WeightIdentity<'a> {
    graph: &'a Graph,
    node: &'a Node,
    packing: WeightPacking,
    texels: u64,
    sections: Option<WeightSections>,
}

impl<'a> WeightIdentity<'a> {
    fn of(graph: &'a Graph, id: NodeId, packings: &IdVec<NodeId, WeightPacking>) -> Self {
        let node = &graph.nodes[id];
        let packing = packings.get(id).copied().unwrap_or_default();
        let texels = packed_weight_texels(graph, node, packing);
        Self { graph, node, packing, texels, sections: weight_sections(graph, node, packing) }
    }

    /// Returns whether two tensors are constants with the same elements, or both are not constants.
    fn same_constant(&self, a: TensorId, b: TensorId) -> bool {
        match (&self.graph.tensors[a].constant, &self.graph.tensors[b].constant) {
            (None, None) => true,
            (Some(x), Some(y)) => {
                let same = x.dtype == y.dtype && x.scale == y.scale && self.graph.shape(a) == self.graph.shape(b);
                same && (x.bytes.is_same(&y.bytes) || x.bytes.as_slice() == y.bytes.as_slice())
            }
            _ => false,
        }
    }

    /// Returns whether the extents of two computed tensors lead to the same packing. If weights are divided by slices
    /// of the result, only channels and sections matter, and height and width do not: heads of a detector read the
    /// same weights at every level.
    fn same_extents(&self, a: TensorId, b: TensorId) -> bool {
        let (a, b) = (self.graph.shape(a), self.graph.shape(b));
        a == b || (self.sections.is_some() && a.c == b.c)
    }

    /// Returns whether the epilogues read the same alphas, which are stored after the weights.
    fn same_alphas(&self, other: &Self) -> bool {
        let acts = |node: &Node| [node.epilogue.first, node.epilogue.then];
        acts(self.node).into_iter().zip(acts(other.node)).all(|pair| match pair {
            (Act::Prelu(a), Act::Prelu(b)) => self.same_constant(a, b),
            (Act::Prelu(_), _) | (_, Act::Prelu(_)) => false,
            _ => true,
        })
    }
}

impl PartialEq for WeightIdentity<'_> {
    fn eq(&self, other: &Self) -> bool {
        let graph = self.graph;
        let operands = |node: &Node| node.operands().collect::<Vec<TensorId>>();
        let (mine, theirs) = (operands(self.node), operands(other.node));
        let same_operand = |(&a, &b): (&TensorId, &TensorId)| {
            self.same_constant(a, b) && (graph.is_constant(a) || self.same_extents(a, b))
        };
        (self.packing, self.texels, &self.sections) == (other.packing, other.texels, &other.sections)
            && self.node.op == other.node.op
            && mine.len() == theirs.len()
            && mine.iter().zip(&theirs).all(same_operand)
            && self.same_extents(self.node.output, other.node.output)
            && self.same_alphas(other)
    }
}
