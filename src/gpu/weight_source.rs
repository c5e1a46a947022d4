//! Weights of a model as texture bytes, both for weights that stay on the device and for those uploaded in every run.

use super::{pack::half, textures::encode};
use crate::{
    compile::CompiledModel,
    graph::{Graph, IdVec, NodeId},
    kernels::WeightPacking,
    ops::{self, WeightWords},
    plan::TexelFormat,
};

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
        let CompiledModel { graph, format, packings, .. } = compiled;
        Self { graph, format: *format, packings, words: WeightWords::new(graph, packings) }
    }

    pub(super) fn packing(&self, id: NodeId) -> WeightPacking {
        self.packings.get(id).copied().unwrap_or_default()
    }

    /// Returns, for each node, the first node with the same weights; considers only nodes for which `stored` returns
    /// true.
    pub(super) fn same_weights(&self, stored: impl Fn(NodeId) -> bool) -> IdVec<NodeId, NodeId> {
        ops::same_weights(self.graph, self.packings, stored)
    }

    /// Returns the texture format of a node's weights if they stay on the device.
    pub(super) fn texture_format(&self, id: NodeId) -> TexelFormat {
        if self.packing(id).is_words() { TexelFormat::Rgba32Uint } else { self.format }
    }

    /// Returns the number of texels of a node's weights, including biases and alphas.
    pub(super) fn texels(&self, id: NodeId) -> u64 {
        ops::packed_weight_texels(self.graph, &self.graph.nodes[id], self.packing(id))
    }

    /// Returns the bytes of a node's weights, as consecutive pieces.
    pub(super) fn pieces(&self, id: NodeId) -> Box<dyn Iterator<Item = Vec<u8>> + Send + '_> {
        let format = self.format;
        if self.packing(id).is_words() {
            let stored: fn(f32) -> f32 = match format {
                TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => |value| value,
                TexelFormat::Rgba16Float => |value| half(value).to_f32(),
            };
            let pieces = self.words.pieces(id, stored);
            return Box::new(pieces.map(|texels| bytemuck::cast_slice(&texels).to_vec()));
        }
        Box::new(ops::weights(self.graph, &self.graph.nodes[id]).map(move |texels| encode(format, &texels)))
    }
}
