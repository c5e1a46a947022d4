//! Weights as the device wants them, on the host: what is uploaded in every run is only copied from here.

use std::{ops::Range, path::Path};

use super::weight_source::WeightSource;
#[cfg(not(target_arch = "wasm32"))]
use super::{packed_file::PackedFile, packing_key::PackingKey};
use crate::{
    graph::{IdVec, NodeId, NodeSet},
    kernels::WeightSections,
    ops,
    plan::TexelFormat,
};

/// The packed weights of some nodes.
#[derive(Debug)]
pub(super) struct PackedWeights {
    bytes: PackedBytes,
    /// Those of each node; none of nodes that were not asked for.
    nodes: IdVec<NodeId, Option<PackedNode>>,
}

/// Where they lie.
#[derive(Debug)]
enum PackedBytes {
    Memory(Vec<u8>),
    #[cfg(not(target_arch = "wasm32"))]
    File(PackedFile),
}

#[derive(Debug)]
struct PackedNode {
    bytes: Range<usize>,
    sections: Option<WeightSections>,
}

impl PackedWeights {
    /// Those of `which`, as texels of the pool: in a file of `folder` where one is given and can be kept there, packed by
    /// whoever wants them first; else in memory.
    pub(super) fn new(source: &WeightSource<'_>, which: &NodeSet, folder: Option<&Path>) -> Self {
        let &WeightSource { graph, format, .. } = source;
        let mut length = 0;
        let mut place = |(id, node)| {
            which.contains(id).then(|| {
                let (first, packing) = (length, source.packing(id));
                length += source.texels(id) as usize * format.texel_bytes() as usize;
                PackedNode { bytes: first..length, sections: ops::weight_sections(graph, node, packing) }
            })
        };
        let nodes = graph.nodes.iter_enumerated().map(&mut place).collect();
        let pieces = || which.iter().flat_map(|id| source.pieces(id));
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(folder) = folder.filter(|_| length > 0) {
            let key = PackingKey::new(source, which);
            let path = folder.join(key.file_name(&graph.name));
            match PackedFile::open_or_write(&path, key.contents(), length, pieces()) {
                Ok(file) => return Self { bytes: PackedBytes::File(file), nodes },
                Err(error) => tracing::info!(path = %path.display(), %error, "packed weights are not kept"),
            }
        }
        #[cfg(target_arch = "wasm32")]
        let _ = folder;
        let mut bytes = Vec::with_capacity(length);
        pieces().for_each(|piece| bytes.extend(piece));
        Self { bytes: PackedBytes::Memory(bytes), nodes }
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
        let bytes = match &self.bytes {
            PackedBytes::Memory(bytes) => &bytes[..],
            #[cfg(not(target_arch = "wasm32"))]
            PackedBytes::File(file) => file.bytes(),
        };
        bytes.get(range)
    }
}
