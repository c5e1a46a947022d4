//! Packs weights with fewer bits than a texel of the pool into words. The operators define the packing as texels; the
//! words follow it, with values taken from the elements of the model.

use std::ops::Range;

use half::f16;

use super::{
    lookup,
    weights::{sections, weight_sections},
};
use crate::{
    graph::{Constant, ElementType, Graph, IdVec, Node, NodeId, QuantParams, Shape, TensorId},
    kernels::{ChannelWeights, SectionRole, WeightPacking, WeightSection},
};

/// Texels of a texture of words.
type Words = Vec<[u32; 4]>;

/// Returns a node's weights, and their axis that corresponds to the channels of the result. `None` unless the kernels
/// can read them in any packing.
pub fn channel_weights(graph: &Graph, node: &Node) -> Option<(TensorId, usize)> {
    let ChannelWeights { operand, axis, .. } = lookup::properties(graph, node).weights?;
    let &weights = node.inputs.get(operand)?;
    graph.is_constant(weights).then_some((weights, axis))
}

/// Returns whether a node multiplies by its weights. Tables, whose elements it looks up, are weights that it does not.
pub fn multiplies_by_weights(graph: &Graph, node: &Node) -> bool {
    lookup::properties(graph, node).weights.is_some_and(|ChannelWeights { operand, .. }| operand == 1)
}

/// Returns the smallest packing that holds a node's weights exactly as the model stores them.
pub fn stored_packing(graph: &Graph, node: &Node) -> WeightPacking {
    let Some((weights, axis)) = channel_weights(graph, node) else { return WeightPacking::Texels };
    match &graph.tensors[weights].constant {
        Some(Constant { dtype: ElementType::F16, .. }) => WeightPacking::Halves,
        Some(constant) if channel_scales(constant, graph.shape(weights).dims(), axis).is_some() => WeightPacking::Bytes,
        _ => WeightPacking::Texels,
    }
}

/// Returns whether weights have 8-bit elements with a scale and a zero point for each channel along `axis`.
pub fn has_channel_scales(constant: &Constant, shape: Shape, axis: usize) -> bool {
    channel_scales(constant, shape.dims(), axis).is_some()
}

/// Returns the number of texels of a node's weights, including biases and alphas.
pub fn packed_weight_texels(graph: &Graph, node: &Node, packing: WeightPacking) -> u64 {
    packed_sections(graph, node, packing).into_iter().map(|(_, texels)| texels).sum()
}

/// Returns the sections of a node's weights, each with its number of texels.
pub(crate) fn packed_sections(graph: &Graph, node: &Node, packing: WeightPacking) -> Vec<(WeightSection, u64)> {
    let weights = lookup::properties(graph, node).weights.filter(|_| packing.is_words());
    let slices = graph.shape(node.output).slices() as u64;
    let texels = |section: &WeightSection| match weights {
        Some(ChannelWeights { slice_texels, .. }) if section.role == SectionRole::Own => {
            slices * packing.slice_texels(slice_texels) as u64
        }
        _ => section.layout.texels(),
    };
    let with_texels = |section| {
        let texels = texels(&section);
        (section, texels)
    };
    sections(graph, node).into_iter().map(with_texels).collect()
}

/// Returns the number of texels of each section of a node's weights for some slices of its result. If its kernel
/// cannot compute a subset of the slices, returns all texels.
pub fn section_texels(
    graph: &Graph,
    node: &Node,
    packing: WeightPacking,
    slices: &Range<u32>,
) -> Vec<(SectionRole, u64)> {
    let is_divided = weight_sections(graph, node, packing).is_some();
    let all = graph.shape(node.output).slices().max(1) as u64;
    let some = |texels: u64| if is_divided { texels / all * slices.len() as u64 } else { texels };
    packed_sections(graph, node, packing).into_iter().map(|(section, texels)| (section.role, some(texels))).collect()
}

/// Returns the scale of each channel, and the zero point to subtract from its bytes after conversion to signed.
/// Returns `None` unless the constant has 8-bit elements, with one scale and one zero point per channel or for all
/// channels.
fn channel_scales(constant: &Constant, dims: [usize; 4], axis: usize) -> Option<Vec<(f32, i32)>> {
    let (range, less) = match constant.dtype {
        ElementType::I8 => (-128..=127, 0),
        ElementType::U8 => (0..=255, 128),
        _ => return None,
    };
    let QuantParams { scale, zero, inner } = constant.scale.as_ref()?;
    let (channels, behind) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
    // Lanes without a weight hold the byte that represents zero.
    if scale.len() != zero.len() || !zero.iter().all(|zero| range.contains(zero)) {
        return None;
    }
    let by_channel: Vec<(f32, i32)> = scale.iter().zip(zero).map(|(&scale, &zero)| (scale, zero - less)).collect();
    match by_channel[..] {
        [one] => Some(vec![one; channels]),
        _ => (by_channel.len() == channels && *inner == behind).then_some(by_channel),
    }
}

/// Weights of the nodes of a graph, packed as words.
pub struct WeightWords<'a> {
    graph: &'a Graph,
    /// A copy of the graph in which weights packed as bytes have a scale of one. Packing them as texels gives the
    /// integers.
    integers: Graph,
    packings: &'a IdVec<NodeId, WeightPacking>,
}

impl<'a> WeightWords<'a> {
    /// Prepares the weights of all nodes whose packing consists of words. Each packing must be able to represent the
    /// weights in the graph.
    pub fn new(graph: &'a Graph, packings: &'a IdVec<NodeId, WeightPacking>) -> Self {
        let mut integers = graph.clone();
        for (node, _) in
            graph.nodes.iter().zip(packings.iter()).filter(|&(_, &packing)| packing == WeightPacking::Bytes)
        {
            let weights = channel_weights(graph, node);
            let constant = weights.and_then(|(weights, _)| integers.tensors[weights].constant.as_mut());
            if let Some(scale) = constant.and_then(|constant| constant.scale.as_mut()) {
                scale.scale.fill(1.0);
            }
        }
        Self { graph, integers, packings }
    }

    /// Returns the weights of a node, section by section. Returns nothing for nodes whose weights are packed as texels.
    /// `stored` rounds biases and alphas like texels of the pool do.
    pub fn pieces(&self, id: NodeId, stored: fn(f32) -> f32) -> impl Iterator<Item = Words> + '_ {
        let node = &self.graph.nodes[id];
        let is_words = self.packing(id).is_words() && lookup::properties(self.graph, node).weights.is_some();
        let sections = if is_words { sections(self.graph, node) } else { Vec::new() };
        sections.into_iter().flat_map(move |section| self.section(id, &section, stored))
    }

    /// Returns a section of a node's weights. Its own weights have one piece per slice of its result.
    pub fn section(
        &self,
        id: NodeId,
        section: &WeightSection,
        stored: fn(f32) -> f32,
    ) -> Box<dyn Iterator<Item = Words> + Send + '_> {
        let (node, packing) = (&self.graph.nodes[id], self.packing(id));
        let weights = lookup::properties(self.graph, node).weights.filter(|_| section.role == SectionRole::Own);
        let Some(ChannelWeights { slice_texels, .. }) = weights else {
            let bits = move |texel: [f32; 4]| texel.map(|value| stored(value).to_bits());
            return Box::new(section.pieces(self.graph).map(move |texels| texels.into_iter().map(bits).collect()));
        };
        let slices = self.graph.shape(node.output).slices();
        let scales = self.scales(node, packing, slices);
        let mut texels = section.pieces(&self.integers).flatten();
        Box::new((0..slices).map(move |slice| {
            let slice_weights: Vec<[f32; 4]> = texels.by_ref().take(slice_texels).collect();
            let scales = scales.get(slice).copied();
            let zeros = scales.map_or([0; 4], |(_, zeros)| zeros);
            let weights = slice_weights.chunks(packing.per_texel()).map(|chunk| words(packing, chunk, zeros));
            let scales = scales.map(|(scales, zeros)| [scales, zeros.map(|zero| zero as f32)]);
            scales.into_iter().flatten().map(|lanes| lanes.map(f32::to_bits)).chain(weights).collect()
        }))
    }

    fn packing(&self, id: NodeId) -> WeightPacking {
        self.packings.get(id).copied().unwrap_or_default()
    }

    /// Returns scales and zero points of each slice, padded for lanes without a channel. Empty if the packing has no
    /// scales.
    fn scales(&self, node: &Node, packing: WeightPacking, slices: usize) -> Vec<([f32; 4], [i32; 4])> {
        let known = (packing == WeightPacking::Bytes).then(|| channel_weights(self.graph, node)).flatten();
        let scales = known.and_then(|(weights, axis)| {
            let constant = self.graph.tensors[weights].constant.as_ref()?;
            channel_scales(constant, self.graph.shape(weights).dims(), axis)
        });
        scales.map_or_else(Vec::new, |mut scales| {
            scales.resize(slices * 4, (0.0, 0));
            let slice = |lanes: &[(f32, i32); 4]| (lanes.map(|(scale, _)| scale), lanes.map(|(_, zero)| zero));
            scales.as_chunks().0.iter().map(slice).collect()
        })
    }
}

/// Packs texels into one texel of words; the last one of a slice may be partly filled.
fn words(packing: WeightPacking, texels: &[[f32; 4]], zeros: [i32; 4]) -> [u32; 4] {
    let mut words = [0; 4];
    for (at, texel) in texels.iter().enumerate() {
        match packing {
            WeightPacking::Halves => {
                let [a, b, c, d] = texel.map(|value| u32::from(f16::from_f32(value).to_bits()));
                (words[2 * at % 4], words[(2 * at + 1) % 4]) = (a | b << 16, c | d << 16);
            }
            WeightPacking::Texels | WeightPacking::Bytes => {
                // The values are 9-bit signed integers; adding the zero point brings them into 8 bits.
                let bytes = [0, 1, 2, 3].map(|lane| (texel[lane] as i32 + zeros[lane]) as i8);
                words[at % 4] = u32::from_le_bytes(bytes.map(i8::cast_unsigned));
            }
        }
    }
    words
}
