//! Packed weights on the host, in the form in which the device needs them, so that an upload in a run is a plain
//! copy.

use std::{ops::Range, path::Path, sync::Arc};

#[cfg(not(target_arch = "wasm32"))]
use super::kept_weights::KeptWeights;
use super::weight_source::WeightSource;
use crate::{
    compile::CompiledModel,
    graph::{IdVec, NodeId, NodeSet},
    kernels::WeightSections,
    ops,
    plan::TexelFormat,
};

/// Packed weights of some nodes.
#[derive(Debug)]
pub(super) struct PackedWeights {
    bytes: PackedBytes,
    /// Byte range of each node; `None` for nodes that are not included.
    nodes: IdVec<NodeId, Option<PackedNode>>,
}

/// Storage of the packed bytes.
#[derive(Debug)]
enum PackedBytes {
    Memory(Vec<u8>),
    #[cfg(not(target_arch = "wasm32"))]
    Kept(KeptWeights),
}

#[derive(Debug)]
struct PackedNode {
    bytes: Range<usize>,
    sections: Option<WeightSections>,
}

impl PackedWeights {
    /// Packs the weights of `which` as texels of the pool: into a file in `folder` if one is given and usable, else
    /// into memory. A file that already holds them is reused.
    pub(super) fn new(
        compiled: &Arc<CompiledModel>,
        source: &WeightSource<'_>,
        which: &NodeSet,
        folder: Option<&Path>,
    ) -> Self {
        let &WeightSource { graph, format, .. } = source;
        let firsts = source.same_weights(|id| which.contains(id));
        // Weights shared between nodes are packed once.
        let packed: NodeSet = which.iter().filter(|&id| firsts[id] == id).collect();
        let mut length = 0;
        let place = |id| {
            packed.contains(id).then(|| {
                let first = length;
                length += source.texels(id) as usize * format.texel_bytes() as usize;
                first..length
            })
        };
        let places: IdVec<NodeId, Option<Range<usize>>> = graph.nodes.ids().map(place).collect();
        let packed_node = |(id, node)| {
            let bytes = places[firsts[id]].clone().filter(|_| which.contains(id))?;
            Some(PackedNode { bytes, sections: ops::weight_sections(graph, node, source.packing(id)) })
        };
        let nodes = graph.nodes.iter_enumerated().map(packed_node).collect();
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(folder) = folder.filter(|_| length > 0) {
            match KeptWeights::new(compiled, source, &packed, length, folder) {
                Ok(kept) => return Self { bytes: PackedBytes::Kept(kept), nodes },
                Err(error) => tracing::info!(folder = %folder.display(), %error, "packed weights are not kept"),
            }
        }
        #[cfg(target_arch = "wasm32")]
        let _ = (compiled, folder);
        let mut bytes = Vec::with_capacity(length);
        packed.iter().flat_map(|id| source.pieces(id)).for_each(|piece| bytes.extend(piece));
        Self { bytes: PackedBytes::Memory(bytes), nodes }
    }

    /// Returns the byte ranges for some slices of a node's result, or all bytes of the node if they cannot be
    /// divided.
    pub(super) fn ranges(&self, node: NodeId, slices: &Range<u32>, format: TexelFormat) -> Vec<Range<usize>> {
        let Some(Some(node)) = self.nodes.get(node) else { return Vec::new() };
        let (first, texel) = (node.bytes.start, format.texel_bytes() as usize);
        let bytes = |texels: Range<usize>| first + texels.start * texel..first + texels.end * texel;
        match &node.sections {
            Some(sections) => sections.ranges(slices).into_iter().map(bytes).collect(),
            None => std::iter::once(node.bytes.clone()).collect(),
        }
    }

    /// Passes the bytes of a range from [`ranges`](Self::ranges) to `take`, piece by piece, with each piece's offset
    /// in the range. A piece may be passed twice, with different values if the first ones were damaged.
    pub(super) fn read(&self, range: &Range<usize>, take: &mut dyn FnMut(usize, &[u8])) {
        match &self.bytes {
            PackedBytes::Memory(bytes) => bytes.get(range.clone()).into_iter().for_each(|bytes| take(0, bytes)),
            #[cfg(not(target_arch = "wasm32"))]
            PackedBytes::Kept(kept) => kept.read(range, take),
        }
    }
}
