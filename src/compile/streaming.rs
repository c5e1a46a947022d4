//! What goes through the pool in every run.

use super::options::{StreamedIo, WeightStorage};
use crate::{graph::Graph, plan::TexelFormat, schedule::Streaming};

/// The weights of a rewritten graph that are uploaded in every run, and its inputs and outputs if they go through the pool.
pub(super) fn streaming(graph: &Graph, storage: WeightStorage, io: StreamedIo, format: TexelFormat) -> Streaming {
    let texel_bytes = format.texel_bytes();
    let weights = match storage {
        WeightStorage::Resident => Streaming::default(),
        WeightStorage::Streamed { resident_below, tile_bytes } => {
            Streaming::new(graph, tile_bytes / texel_bytes, |_, texels| texels * texel_bytes >= resident_below)
        }
    };
    weights.with_inputs(io.inputs).with_outputs(io.outputs)
}
