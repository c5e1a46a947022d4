//! Weights in fewer bits than a texel of the pool has, as words: packed like those in texels, of which the operators
//! know, and made of the elements that the model holds.

use half::f16;

use super::{
    lookup,
    weights::{weight_texels, weights},
};
use crate::{
    graph::{Constant, ElementType, Graph, IdVec, Node, NodeId, QuantParams, Shape, TensorId},
    kernels::{ChannelWeights, WeightPacking, epilogue},
};

/// Texels of a texture of words.
type Words = Vec<[u32; 4]>;

/// The weights of a node and the axis of theirs that the channels of its result are, where its kernels read them
/// however they are packed.
pub(crate) fn channel_weights(graph: &Graph, node: &Node) -> Option<(TensorId, usize)> {
    let ChannelWeights { axis, .. } = lookup::properties(graph, node).weights?;
    let &weights = node.inputs.get(1)?;
    graph.is_constant(weights).then_some((weights, axis))
}

/// The packing that holds a node's weights as the model has them, and takes the fewest bytes.
pub(crate) fn stored_packing(graph: &Graph, node: &Node) -> WeightPacking {
    let Some((weights, axis)) = channel_weights(graph, node) else { return WeightPacking::Texels };
    match &graph.tensors[weights].constant {
        Some(Constant { dtype: ElementType::F16, .. }) => WeightPacking::Halves,
        Some(constant) if channel_scales(constant, graph.shape(weights).dims(), axis).is_some() => WeightPacking::Bytes,
        _ => WeightPacking::Texels,
    }
}

/// Whether the elements of weights have 8 bits, and a scale and a zero for each channel, which are an axis of theirs.
pub(crate) fn has_channel_scales(constant: &Constant, shape: Shape, axis: usize) -> bool {
    channel_scales(constant, shape.dims(), axis).is_some()
}

/// How many texels the weights of a node take, with what lies behind them.
pub fn packed_weight_texels(graph: &Graph, node: &Node, packing: WeightPacking) -> u64 {
    match lookup::properties(graph, node).weights {
        Some(ChannelWeights { slice_texels, .. }) if packing.is_words() => {
            let slice = packing.slice_texels(slice_texels) + 1;
            let alphas = epilogue::alphas(graph, node).len() as u64;
            graph.shape(node.output).slices() as u64 * slice as u64 + alphas
        }
        _ => weight_texels(graph, node),
    }
}

/// A scale and what is subtracted from a byte, by channel: what the elements of a constant of 8 bits stand for once
/// they are bytes with a sign. None where it has others, or not one of each for a channel.
fn channel_scales(constant: &Constant, dims: [usize; 4], axis: usize) -> Option<Vec<(f32, i32)>> {
    let (range, less) = match constant.dtype {
        ElementType::I8 => (-128..=127, 0),
        ElementType::U8 => (0..=255, 128),
        _ => return None,
    };
    let QuantParams { scale, zero, inner } = constant.scale.as_ref()?;
    let (channels, behind) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
    // Where there is no weight, the byte is that which stands for zero.
    if scale.len() != zero.len() || !zero.iter().all(|zero| range.contains(zero)) {
        return None;
    }
    let by_channel: Vec<(f32, i32)> = scale.iter().zip(zero).map(|(&scale, &zero)| (scale, zero - less)).collect();
    match by_channel[..] {
        [one] => Some(vec![one; channels]),
        _ => (by_channel.len() == channels && *inner == behind).then_some(by_channel),
    }
}

/// The weights of some nodes of a graph as words.
pub struct WeightWords<'a> {
    graph: &'a Graph,
    /// The same graph, where what is packed as bytes has scales of one: packed as texels, it is the integers.
    integers: Graph,
    packings: &'a IdVec<NodeId, WeightPacking>,
}

impl<'a> WeightWords<'a> {
    /// Those of the nodes whose packing is one of words, which must be such that [`WeightPacking`] can hold what the
    /// graph has.
    pub fn new(graph: &'a Graph, packings: &'a IdVec<NodeId, WeightPacking>) -> Self {
        let mut integers = graph.clone();
        for (node, _) in
            graph.nodes.iter().zip(packings.iter()).filter(|&(_, &packing)| packing == WeightPacking::Bytes)
        {
            let constant = node.inputs.get(1).and_then(|&weights| integers.tensors[weights].constant.as_mut());
            if let Some(scale) = constant.and_then(|constant| constant.scale.as_mut()) {
                scale.scale.fill(1.0);
            }
        }
        Self { graph, integers, packings }
    }

    /// Those of a node, a slice of its result a piece, then what lies behind them; nothing of nodes whose weights are
    /// packed as texels. Of biases and alphas `stored` is what texels of the pool would hold.
    pub fn pieces(&self, id: NodeId, stored: fn(f32) -> f32) -> impl Iterator<Item = Words> + '_ {
        let packing = self.packings.get(id).copied().unwrap_or_default();
        let node = &self.graph.nodes[id];
        let weights_of = lookup::properties(self.graph, node).weights.filter(|_| packing.is_words());
        let slices = weights_of.map_or(0, |_| self.graph.shape(node.output).slices());
        let slice_texels = weights_of.map_or(0, |weights| weights.slice_texels);
        let scales = self.scales(node, packing, slices);
        let mut texels = weights(&self.integers, node).flatten();
        (0..if slices > 0 { slices + 1 } else { 0 }).map(move |slice| {
            if slice == slices {
                return texels.by_ref().map(|texel| texel.map(|value| stored(value).to_bits())).collect();
            }
            let slice_weights: Vec<[f32; 4]> = texels.by_ref().take(slice_texels).collect();
            let scales = scales.get(slice).copied();
            let zeros = scales.map_or([0; 4], |(_, zeros)| zeros);
            let weights = slice_weights.chunks(packing.per_texel()).map(|chunk| words(packing, chunk, zeros));
            let scales = scales.map(|(scales, zeros)| [scales, zeros.map(|zero| zero as f32)]);
            scales.into_iter().flatten().map(|lanes| lanes.map(f32::to_bits)).chain(weights).collect()
        })
    }

    /// Scales and zeros of the channels of each slice, those of no channel too, if there are any.
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

/// A texel of words of as many texels as it holds, or fewer at the end of a slice.
fn words(packing: WeightPacking, texels: &[[f32; 4]], zeros: [i32; 4]) -> [u32; 4] {
    let mut words = [0; 4];
    for (at, texel) in texels.iter().enumerate() {
        match packing {
            WeightPacking::Halves => {
                let [a, b, c, d] = texel.map(|value| u32::from(f16::from_f32(value).to_bits()));
                (words[2 * at % 4], words[(2 * at + 1) % 4]) = (a | b << 16, c | d << 16);
            }
            WeightPacking::Texels | WeightPacking::Bytes => {
                // Whole numbers of 9 bits with a sign, which the zero brings into 8.
                let bytes = [0, 1, 2, 3].map(|lane| (texel[lane] as i32 + zeros[lane]) as i8);
                words[at % 4] = u32::from_le_bytes(bytes.map(i8::cast_unsigned));
            }
        }
    }
    words
}
