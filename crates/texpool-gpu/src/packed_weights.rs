//! Packed weights on the host, in the form in which the device needs them, so that an upload in a run is a plain
//! copy.

use std::{ops::Range, path::Path, sync::Arc};

#[cfg(not(target_arch = "wasm32"))]
use super::kept_weights::KeptWeights;
use super::weight_source::WeightSource;
use texpool_compile::CompiledModel;
use texpool_ops::{
    graph::{IdVec, NodeId, NodeSet},
    kernels::SectionRole,
    ops::{self, GroupSection, NodeSections, WeightGroup, WeightGroups},
};

/// Packed weights of some nodes.
#[derive(Debug)]
pub(super) struct PackedWeights {
    bytes: PackedBytes,
    /// Byte ranges of each node; `None` for nodes that are not included.
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
    /// Bytes of each section. Nodes with equal sections have equal ranges.
    sections: Vec<Range<usize>>,
    /// Number of slices by which each section can be divided, if it can.
    slices: Option<usize>,
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
        let WeightGroups { groups, nodes } = source.groups(|id| which.contains(id));
        let texel = source.format.texel_bytes() as usize;
        let mut length = 0;
        let mut begin = |group: &WeightGroup| {
            let first = length;
            length += group.texels as usize * texel;
            first
        };
        let begins: Vec<usize> = groups.iter().map(&mut begin).collect();
        let packed_node = |(id, held): (NodeId, &Option<NodeSections>)| {
            let NodeSections { group, sections } = held.as_ref()?;
            let bytes = |&(_, index): &(SectionRole, usize)| {
                let GroupSection { start, texels, .. } = groups[*group].sections[index];
                let first = begins[*group] + start as usize * texel;
                first..first + texels as usize * texel
            };
            let (node, packing) = (&source.graph.nodes[id], source.packing(id));
            let slices = source.graph.shape(node.output).slices();
            let slices = ops::weight_sections(source.graph, node, packing).map(|_| slices);
            Some(PackedNode { sections: sections.iter().map(bytes).collect(), slices })
        };
        let nodes = nodes.iter_enumerated().map(packed_node).collect();
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(folder) = folder.filter(|_| length > 0) {
            match KeptWeights::new(compiled, source, &groups, length, folder) {
                Ok(kept) => return Self { bytes: PackedBytes::Kept(kept), nodes },
                Err(error) => tracing::info!(folder = %folder.display(), %error, "packed weights are not kept"),
            }
        }
        #[cfg(target_arch = "wasm32")]
        let _ = (compiled, folder);
        let mut bytes = Vec::with_capacity(length);
        groups.iter().flat_map(|group| source.pieces(group)).for_each(|piece| bytes.extend(piece));
        Self { bytes: PackedBytes::Memory(bytes), nodes }
    }

    /// Returns the byte ranges for some slices of a node's result, or all bytes of the node if they cannot be
    /// divided.
    pub(super) fn ranges(&self, node: NodeId, slices: &Range<u32>) -> Vec<Range<usize>> {
        let Some(Some(PackedNode { sections, slices: all })) = self.nodes.get(node) else { return Vec::new() };
        let some = |section: &Range<usize>| match *all {
            Some(all) => {
                let slice = section.len() / all.max(1);
                section.start + slices.start as usize * slice..section.start + slices.end as usize * slice
            }
            None => section.clone(),
        };
        sections.iter().map(some).collect()
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
