//! Packing of weights into texels.

use super::tail::channel_texels;
use crate::graph::{Graph, Node};

/// What four input channels give to four output channels: texel `j` holds input channel `j`'s part.
pub(super) fn matrix(weight: impl Fn(usize, usize) -> f32) -> [[f32; 4]; 4] {
    std::array::from_fn(|input| std::array::from_fn(|output| weight(input, output)))
}

/// The biases of a convolution of `channels` output channels as texels, zeros where the file has none.
pub(super) fn bias(graph: &Graph, node: &Node, channels: usize) -> Vec<[f32; 4]> {
    match node.inputs.get(2) {
        Some(&tensor) => channel_texels(graph, tensor),
        None => vec![[0.0; 4]; channels.div_ceil(4)],
    }
}
