//! Weights of a model as texture bytes, both for weights that stay on the device and for those uploaded in every run.

use super::{pack::half, textures::encode};
use texpool_compile::{CompiledModel, ResidentWeights};
use texpool_ops::{
    graph::{Graph, IdVec, NodeId, NodeSet},
    kernels::WeightPacking,
    ops::{GroupSection, WeightGroup, WeightGroups, WeightWords},
};
use texpool_plan::TexelFormat;

/// Source of packed weight bytes.
pub(super) struct WeightSource<'a> {
    pub(super) graph: &'a Graph,
    /// Format of weights that are packed as texels.
    pub(super) format: TexelFormat,
    packings: &'a IdVec<NodeId, WeightPacking>,
    words: WeightWords<'a>,
}

impl<'a> WeightSource<'a> {
    pub(super) fn new(compiled: &'a CompiledModel) -> Self {
        let (graph, format, packings) = (compiled.graph(), compiled.format().of_floats(), compiled.packings());
        Self { graph, format, packings, words: WeightWords::new(graph, packings) }
    }

    pub(super) fn packing(&self, id: NodeId) -> WeightPacking {
        self.packings.get(id).copied().unwrap_or_default()
    }

    /// Groups the weights of the nodes for which `stored` returns true, each section once.
    pub(super) fn groups(&self, stored: impl Fn(NodeId) -> bool) -> WeightGroups {
        WeightGroups::new(self.graph, self.packings, u64::MAX, stored)
    }

    /// Places the weights of all nodes except `streamed` into textures of at most `max_extent` texels in each direction.
    pub(super) fn resident(&self, streamed: &NodeSet, max_extent: u32) -> ResidentWeights {
        ResidentWeights::new(self.graph, self.packings, streamed, self.format, max_extent)
    }

    /// Returns the bytes of a group, as consecutive pieces.
    pub(super) fn pieces<'g>(&'g self, group: &'g WeightGroup) -> impl Iterator<Item = Vec<u8>> + Send + 'g {
        group.sections.iter().flat_map(|section| self.section(group.packing, section))
    }

    fn section(&self, packing: WeightPacking, held: &GroupSection) -> Box<dyn Iterator<Item = Vec<u8>> + Send + '_> {
        let format = self.format;
        if packing.is_words() {
            let stored: fn(f32) -> f32 = match format {
                TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint | TexelFormat::Rgba8Uint => |value| value,
                TexelFormat::Rgba16Float => |value| half(value).to_f32(),
            };
            let pieces = self.words.section(held.node, &held.section, stored);
            return Box::new(pieces.map(|texels| bytemuck::cast_slice(&texels).to_vec()));
        }
        Box::new(held.section.pieces(self.graph).map(move |texels| encode(format, &texels)))
    }
}
