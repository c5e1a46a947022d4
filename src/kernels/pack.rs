//! Packs weights into texels.

use super::epilogue::channel_texels;
use crate::graph::{Graph, Node, Shape, TensorId};

/// Produces weight texels in pieces, each computed on demand, so that large weights are never packed all at once.
pub type WeightPieces<'a> = Box<dyn Iterator<Item = Vec<[f32; 4]>> + Send + 'a>;

/// Returns no weights.
pub(crate) fn nothing<'a>() -> WeightPieces<'a> {
    Box::new(std::iter::empty())
}

/// Returns all weights as one piece.
pub(crate) fn whole<'a>(texels: impl FnOnce() -> Vec<[f32; 4]> + Send + 'a) -> WeightPieces<'a> {
    Box::new(std::iter::once_with(texels))
}

/// Returns the weights from four input channels to four output channels: texel `j` holds the weights of input channel
/// `j`.
pub(crate) fn matrix(weight: impl Fn(usize, usize) -> f32) -> [[f32; 4]; 4] {
    std::array::from_fn(|input| std::array::from_fn(|output| weight(input, output)))
}

/// Returns the biases of a convolution with `channels` output channels as texels; zeros if the node has no biases.
pub(crate) fn bias(graph: &Graph, node: &Node, channels: usize) -> Vec<[f32; 4]> {
    match node.inputs.get(2) {
        Some(&tensor) => channel_texels(graph, tensor),
        None => vec![[0.0; 4]; channels.div_ceil(4)],
    }
}

/// Packs a constant like an intermediate tensor: rows, slices, pixels, with zeros past the last channel. Returns an
/// empty list for a computed tensor.
pub(crate) fn tensor(graph: &Graph, tensor: TensorId) -> Vec<[f32; 4]> {
    let Some(constant) = &graph.tensors[tensor].constant else { return Vec::new() };
    let shape = graph.shape(tensor);
    // Starts with zeros, because kernels rely on them in the lanes past the last channel.
    let mut texels = vec![[0.0; 4]; shape.texels()];
    let values = constant.reals();
    for i in 0..constant.len() {
        let [b, h, w, c] = indices(shape, i);
        texels[((b * shape.h + h) * shape.slices() + c / 4) * shape.w + w][c % 4] = values.get(i);
    }
    texels
}

/// Returns the indices of element `i` in dense order.
pub(crate) const fn indices(shape: Shape, i: usize) -> [usize; 4] {
    let (pixel, c) = (i / shape.c, i % shape.c);
    let (row, w) = (pixel / shape.w, pixel % shape.w);
    [row / shape.h, row % shape.h, w, c]
}
