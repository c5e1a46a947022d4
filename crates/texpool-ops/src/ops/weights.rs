//! Returns the weights that a node's kernel reads: their sections, and these as texels.

use super::lookup;
use crate::{
    graph::{Graph, Node},
    kernels::{WeightPacking, WeightPieces, WeightSection, WeightSections, epilogue},
};

/// Version of the output of [`weights`] and [`WeightWords`](super::WeightWords). Packed weights are cached in files,
/// so this must be increased when a kernel changes its packing.
pub const PACKING: u32 = 1;

/// Returns the sections of the weights that a node's kernel reads, in order: weights, biases, constants of the epilogue. Sections
/// of tensors that are no constants are left out; no kernel accepts such a node.
pub(crate) fn sections(graph: &Graph, node: &Node) -> Vec<WeightSection> {
    let mut sections = lookup::weights(graph, node);
    sections.extend(epilogue::constants(graph, node));
    sections.retain(|section| section.constants(graph).is_some());
    sections
}

/// Returns the weight texels that a node's kernel reads, section by section.
pub fn weights<'a>(graph: &'a Graph, node: &Node) -> WeightPieces<'a> {
    let pieces = sections(graph, node).into_iter().flat_map(|section| section.pieces(graph));
    Box::new(pieces.filter(|texels| !texels.is_empty()))
}

/// Returns the number of texels that [`weights`] returns.
pub fn weight_texels(graph: &Graph, node: &Node) -> u64 {
    sections(graph, node).iter().map(|section| section.layout.texels()).sum()
}

/// Returns the division of a node's weights by slices of its result, for this packing. `None` if the kernel cannot
/// compute a subset of the slices.
pub fn weight_sections(graph: &Graph, node: &Node, packing: WeightPacking) -> Option<WeightSections> {
    let mut sections = lookup::weight_sections(graph, node)?.packed(packing);
    for act in [node.epilogue.first, node.epilogue.then] {
        if let Some(constant) = act.constant() {
            // The same number of values for every channel, as the shader expects.
            let channels = graph.shape(constant).len() / act.constant_rows();
            if channels.div_ceil(4) != graph.shape(node.output).slices() {
                return None;
            }
            sections = sections.with_rows(act.constant_rows());
        }
    }
    Some(sections)
}
