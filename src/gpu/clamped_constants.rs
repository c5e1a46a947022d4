//! Constants of a model with values beyond the range in which they are stored.

use std::collections::BTreeMap;

use super::{Clamp, ClampedValues, weight_source::WeightSource};
use crate::{graph::TensorId, plan::TexelFormat};

/// Returns the constants with finite values that are stored as the largest 16-bit float, in the order of the graph's
/// tensors. `rounded` has the counts of weights that are 16-bit floats already because they were rounded.
///
/// Counts the elements of the model and not packed texels. So a constant counts once however many nodes share it, and
/// the counts are the same for weights that a file of packed weights holds already.
pub(super) fn clamped_constants(source: &WeightSource<'_>, rounded: &BTreeMap<TensorId, u64>) -> Vec<ClampedValues> {
    let graph = source.graph;
    let mut counts: BTreeMap<TensorId, u64> = BTreeMap::new();
    for (id, node) in graph.nodes.iter_enumerated() {
        for (index, tensor) in node.operands().enumerate() {
            let Some(constant) = &graph.tensors[tensor].constant else { continue };
            // Only the weights themselves are packed as words, not biases and alphas.
            let is_texels = index != 1 || !source.packing(id).is_words();
            if is_texels && source.format == TexelFormat::Rgba16Float && !rounded.contains_key(&tensor) {
                counts.entry(tensor).or_insert_with(|| constant.beyond_half());
            } else if let Some(&count) = rounded.get(&tensor) {
                counts.insert(tensor, count);
            }
        }
    }
    let clamped = counts.into_iter().filter(|&(_, count)| count > 0).map(|(tensor, count)| ClampedValues {
        clamp: Clamp::Saturated,
        node: None,
        op: "constant",
        tensor: graph.tensors[tensor].name.clone(),
        count,
    });
    clamped.collect()
}
