//! Returns the weights that a node's kernel reads, as texels.

use super::lookup;
use crate::{
    graph::{Act, Graph, Node},
    kernels::{WeightPacking, WeightPieces, WeightSections, epilogue},
};

/// Version of the output of [`weights`] and [`WeightWords`](super::WeightWords). Packed weights are cached in files,
/// so this must be increased when a kernel changes its packing.
pub const PACKING: u32 = 1;

/// Returns the weight texels that a node's kernel reads, in order: weights, biases, PReLU alphas.
pub fn weights<'a>(graph: &'a Graph, node: &'a Node) -> WeightPieces<'a> {
    // Alphas come after the kernel's texels; each kernel recomputes their offset for its dispatches.
    let alphas = std::iter::once_with(|| epilogue::alphas(graph, node));
    Box::new(lookup::weights(graph, node).chain(alphas).filter(|texels| !texels.is_empty()))
}

/// Returns the number of texels that [`weights`] returns.
pub fn weight_texels(graph: &Graph, node: &Node) -> u64 {
    match weight_sections(graph, node, WeightPacking::Texels) {
        Some(sections) => sections.all(),
        None => weights(graph, node).map(|texels| texels.len() as u64).sum(),
    }
}

/// Returns the layout of a node's weights by slices of its result, for this packing. `None` if the kernel cannot
/// compute a subset of the slices.
pub fn weight_sections(graph: &Graph, node: &Node, packing: WeightPacking) -> Option<WeightSections> {
    let mut sections = lookup::weight_sections(graph, node)?.packed(packing);
    for act in [node.epilogue.first, node.epilogue.then] {
        if let Act::Prelu(alphas) = act {
            // One alpha per channel, as the shader expects.
            if graph.shape(alphas).len().div_ceil(4) != graph.shape(node.output).slices() {
                return None;
            }
            sections = sections.with_channels();
        }
    }
    Some(sections)
}
