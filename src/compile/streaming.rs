//! Which weights are uploaded in every run.

use super::options::WeightStorage;
use crate::{graph::Graph, plan::TexelFormat, schedule::WeightStreaming};

/// The weights of a rewritten graph that are uploaded in every run.
pub(super) fn streaming(graph: &Graph, storage: WeightStorage, format: TexelFormat) -> WeightStreaming {
    let texel_bytes = format.texel_bytes();
    match storage {
        WeightStorage::Resident => WeightStreaming::default(),
        WeightStorage::Streamed { resident_below, tile_bytes } => {
            WeightStreaming::new(graph, tile_bytes / texel_bytes, |_, texels| texels * texel_bytes >= resident_below)
        }
    }
}
