//! A node to the weights that its kernel reads, as texels.

use super::lookup;
use crate::{
    graph::{Act, Graph, Node},
    kernels::{WeightPacking, WeightPieces, WeightSections, epilogue},
};

/// The version of what [`weights`] and [`WeightWords`](super::WeightWords) answer with, to be raised where a kernel wants
/// its weights packed otherwise: they are kept in files from run to run.
pub const PACKING: u32 = 1;

/// The texels that a node's kernel reads beside its tensors, one after another: weights, biases, PReLU alphas.
pub fn weights<'a>(graph: &'a Graph, node: &'a Node) -> WeightPieces<'a> {
    // Alphas lie behind the kernel's own texels, which each kernel counts again for its dispatches.
    let alphas = std::iter::once_with(|| epilogue::alphas(graph, node));
    Box::new(lookup::weights(graph, node).chain(alphas).filter(|texels| !texels.is_empty()))
}

/// How many texels [`weights`] answers with.
pub fn weight_texels(graph: &Graph, node: &Node) -> u64 {
    match weight_sections(graph, node, WeightPacking::Texels) {
        Some(sections) => sections.all(),
        None => weights(graph, node).map(|texels| texels.len() as u64).sum(),
    }
}

/// How the texels of a node's weights are divided by slices of its result, where they are packed so; `None` where no kernel
/// computes some slices alone.
pub fn weight_sections(graph: &Graph, node: &Node, packing: WeightPacking) -> Option<WeightSections> {
    let mut sections = lookup::weight_sections(graph, node)?.packed(packing);
    for act in [node.epilogue.first, node.epilogue.then] {
        if let Act::Prelu(alphas) = act {
            // One alpha a channel, as the shader counts them.
            if graph.shape(alphas).len().div_ceil(4) != graph.shape(node.output).slices() {
                return None;
            }
            sections = sections.with_channels();
        }
    }
    Some(sections)
}
