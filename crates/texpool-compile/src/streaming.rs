//! Determines the data that goes through the pool in every run.

use crate::{
    options::{CompileOptions, WeightStorage},
    schedule::Streaming,
    weight_format::packings,
};
use texpool_ops::graph::Graph;

/// Returns the weights of a rewritten graph that are uploaded in every run, and whether inputs and outputs go through
/// the pool.
pub(super) fn streaming(graph: &Graph, options: &CompileOptions) -> Streaming {
    let &CompileOptions { weights, weight_format, stream_io, format, .. } = options;
    let texel_bytes = format.texel_bytes();
    let weights = match weights {
        WeightStorage::Resident => Streaming::default(),
        WeightStorage::Streamed { resident_below, tile_bytes } => {
            let packings = packings(graph, weight_format, format, |_| true);
            let is_streamed = |_, texels| texels * texel_bytes >= resident_below;
            Streaming::new(graph, &packings, format.texels_of_words(), tile_bytes / texel_bytes, is_streamed)
        }
    };
    weights.with_inputs(stream_io.inputs).with_outputs(stream_io.outputs)
}
