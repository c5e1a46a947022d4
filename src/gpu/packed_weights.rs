//! Weights as the device wants them, on the host: what is uploaded in every run is only copied from here.

use std::ops::Range;

use super::textures::encode;
use crate::{
    graph::{Graph, IdVec, NodeId, NodeSet},
    kernels::WeightSections,
    ops,
    plan::TexelFormat,
};

/// The packed weights of some nodes.
#[derive(Debug, Default)]
pub(super) struct PackedWeights {
    bytes: Vec<u8>,
    /// Those of each node; none of nodes that were not asked for.
    nodes: IdVec<NodeId, Option<PackedNode>>,
}

#[derive(Debug)]
struct PackedNode {
    bytes: Range<usize>,
    sections: Option<WeightSections>,
}

impl PackedWeights {
    /// Those of `which`, as texels of `format`.
    pub(super) fn new(graph: &Graph, which: &NodeSet, format: TexelFormat) -> Self {
        let mut bytes = Vec::new();
        let mut packed = |(id, node)| {
            which.contains(id).then(|| {
                let first = bytes.len();
                bytes.extend(encode(format, &ops::weights(graph, node)));
                PackedNode { bytes: first..bytes.len(), sections: ops::weight_sections(graph, node) }
            })
        };
        let nodes = graph.nodes.iter_enumerated().map(&mut packed).collect();
        Self { bytes, nodes }
    }

    /// Where those of some slices of a node's result lie, or all that it has where they cannot be divided.
    pub(super) fn ranges(&self, node: NodeId, slices: &Range<u32>, format: TexelFormat) -> Vec<Range<usize>> {
        let Some(Some(node)) = self.nodes.get(node) else { return Vec::new() };
        let (first, texel) = (node.bytes.start, format.texel_bytes() as usize);
        let bytes = |texels: Range<usize>| first + texels.start * texel..first + texels.end * texel;
        match &node.sections {
            Some(sections) => sections.ranges(slices).into_iter().map(bytes).collect(),
            None => std::iter::once(node.bytes.clone()).collect(),
        }
    }

    /// Bytes that [`ranges`](Self::ranges) names.
    pub(super) fn get(&self, range: Range<usize>) -> Option<&[u8]> {
        self.bytes.get(range)
    }
}
