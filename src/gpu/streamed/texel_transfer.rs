//! What crosses between host and device in the middle of a run.

use std::ops::Range;

use crate::graph::NodeId;

/// Texels that cross between host and device in the middle of a run, one after another.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct TexelTransfer {
    pub(in crate::gpu) of: TransferOf,
    pub(in crate::gpu) texture: usize,
    /// The first texel in the texture.
    pub(in crate::gpu) first: u32,
    /// The dispatch that it comes before: the first that may see what is uploaded, or that may write over what is
    /// downloaded.
    pub(in crate::gpu) before: usize,
}

/// What crosses.
#[derive(Clone, Debug)]
pub(in crate::gpu) enum TransferOf {
    /// Weights of a node for some slices of its result are uploaded.
    Weights { node: NodeId, slices: Range<u32> },
    /// Texels of an input are uploaded, as it is packed.
    Input { input: usize, texels: Range<usize> },
    /// Texels of an output are downloaded, as it will be unpacked.
    Output { output: usize, texels: Range<usize> },
}
