//! Packs weights into texels.

use super::weights::{SectionLayout, SectionRole, WeightPieces, WeightSection};
use crate::graph::{Constant, Graph, Node, Shape, TensorId};

/// Returns all weights as one piece.
pub(crate) fn whole<'a>(texels: impl FnOnce() -> Vec<[f32; 4]> + Send + 'a) -> WeightPieces<'a> {
    Box::new(std::iter::once_with(texels))
}

/// Returns the weights from four input channels to four output channels: texel `j` holds the weights of input channel
/// `j`.
pub(crate) fn matrix(weight: impl Fn(usize, usize) -> f32) -> [[f32; 4]; 4] {
    std::array::from_fn(|input| std::array::from_fn(|output| weight(input, output)))
}

/// Returns the biases of a convolution with `channels` output channels; zeros if the node has no biases.
pub(crate) fn biases(graph: &Graph, node: &Node, channels: usize) -> WeightSection {
    match node.inputs.get(2) {
        Some(&tensor) => channels_of(graph, SectionRole::Biases, tensor),
        None => WeightSection::new(SectionRole::Biases, Vec::new(), Channels { texels: channels.div_ceil(4) }),
    }
}

/// Returns a constant with one value per channel, padded with zeros. A computed tensor has no texels.
pub(crate) fn channels_of(graph: &Graph, role: SectionRole, tensor: TensorId) -> WeightSection {
    let length = graph.tensors[tensor].constant.as_ref().map_or(0, Constant::len);
    WeightSection::new(role, vec![tensor], Channels { texels: length.div_ceil(4) })
}

/// Returns a constant with `rows` values per channel, row by row. Each slice has a texel for every row.
pub(crate) fn rows_of_channels(graph: &Graph, role: SectionRole, tensor: TensorId, rows: usize) -> WeightSection {
    let channels = graph.tensors[tensor].constant.as_ref().map_or(0, Constant::len) / rows;
    WeightSection::new(role, vec![tensor], RowsOfChannels { rows, channels })
}

/// Returns operand `index` as a whole tensor if it is a constant.
pub(crate) fn whole_operand(graph: &Graph, node: &Node, index: usize) -> Vec<WeightSection> {
    whole_operand_as(SectionRole::Own, graph, node, index).into_iter().collect()
}

/// Returns operand `index` as a whole tensor with this role if it is a constant.
pub(crate) fn whole_operand_as(role: SectionRole, graph: &Graph, node: &Node, index: usize) -> Option<WeightSection> {
    let operand = node.inputs.get(index).copied().filter(|&tensor| graph.is_constant(tensor));
    operand.map(|tensor| WeightSection::new(role, vec![tensor], WholeTensor { shape: graph.shape(tensor) }))
}

/// Returns the index of the constant among a node's first two operands, if there is one.
pub(crate) fn constant_of_two(graph: &Graph, node: &Node) -> Option<usize> {
    node.inputs.iter().take(2).position(|&tensor| graph.is_constant(tensor))
}

/// Returns the constant among a node's first two operands as a whole tensor.
pub(crate) fn whole_of_two(graph: &Graph, node: &Node) -> Vec<WeightSection> {
    constant_of_two(graph, node).map_or_else(Vec::new, |index| whole_operand(graph, node, index))
}

/// One value per channel, four per texel; zeros if there is no constant.
#[derive(Debug)]
struct Channels {
    texels: usize,
}

impl SectionLayout for Channels {
    fn texels(&self) -> u64 {
        self.texels as u64
    }

    fn pieces<'a>(&self, constants: &[&'a Constant]) -> WeightPieces<'a> {
        let (texels, constant) = (self.texels, constants.first().copied());
        whole(move || match constant {
            Some(constant) => channels(constant, texels),
            None => vec![[0.0; 4]; texels],
        })
    }
}

/// Rows of values per channel, such that the texels of a slice are next to each other, padded with zeros.
#[derive(Debug)]
struct RowsOfChannels {
    rows: usize,
    channels: usize,
}

impl SectionLayout for RowsOfChannels {
    fn texels(&self) -> u64 {
        (self.rows * self.channels.div_ceil(4)) as u64
    }

    fn pieces<'a>(&self, constants: &[&'a Constant]) -> WeightPieces<'a> {
        let (&Self { rows, channels }, constant) = (self, constants.first().copied());
        whole(move || {
            let Some(constant) = constant else { return Vec::new() };
            let values = constant.to_f32();
            let texel = |slice: usize, row: &[f32]| padded(&row[slice * 4..channels.min(slice * 4 + 4)]);
            let slice = |slice| values.chunks(channels.max(1)).take(rows).map(move |row| texel(slice, row));
            (0..channels.div_ceil(4)).flat_map(slice).collect()
        })
    }
}

/// Returns the values of a constant, four channels to a texel, padded with zeros to `texels` texels.
pub(crate) fn channels(constant: &Constant, texels: usize) -> Vec<[f32; 4]> {
    let mut result: Vec<_> = constant.to_f32().chunks(4).map(padded).collect();
    result.resize(texels, [0.0; 4]);
    result
}

/// Returns up to four values as a texel.
fn padded(values: &[f32]) -> [f32; 4] {
    std::array::from_fn(|lane| values.get(lane).copied().unwrap_or(0.0))
}

/// A constant in the layout of an intermediate tensor: rows, slices, pixels, with zeros past the last channel.
#[derive(Debug)]
struct WholeTensor {
    shape: Shape,
}

impl SectionLayout for WholeTensor {
    fn texels(&self) -> u64 {
        self.shape.texels() as u64
    }

    fn pieces<'a>(&self, constants: &[&'a Constant]) -> WeightPieces<'a> {
        let (shape, constants) = (self.shape, constants.to_vec());
        whole(move || {
            // Starts with zeros, because kernels rely on them in the lanes past the last channel.
            let mut texels = vec![[0.0; 4]; shape.texels()];
            for constant in constants {
                let values = constant.reals();
                for i in 0..constant.len() {
                    let [b, h, w, c] = indices(shape, i);
                    texels[((b * shape.h + h) * shape.slices() + c / 4) * shape.w + w][c % 4] = values.get(i);
                }
            }
            texels
        })
    }
}

/// Returns the indices of element `i` in dense order.
pub(crate) const fn indices(shape: Shape, i: usize) -> [usize; 4] {
    let (pixel, c) = (i / shape.c, i % shape.c);
    let (row, w) = (pixel / shape.w, pixel % shape.w);
    [row / shape.h, row % shape.h, w, c]
}
