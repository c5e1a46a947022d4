//! Transfers of texels between host and device in the middle of a run.

use std::ops::Range;

use texpool_ops::graph::NodeId;

/// A transfer of contiguous texels between host and device in the middle of a run.
#[derive(Clone, Debug)]
pub(crate) struct TexelTransfer {
    pub(crate) of: TransferOf,
    pub(crate) texture: usize,
    /// The first texel in the texture.
    pub(crate) first: u32,
    /// The dispatch that the transfer precedes: the first one that may read the uploaded texels, or overwrite the
    /// downloaded ones.
    pub(crate) before: usize,
}

/// Contents of a transfer.
#[derive(Clone, Debug)]
pub(crate) enum TransferOf {
    /// Upload of a node's weights for some slices of its result.
    Weights { node: NodeId, slices: Range<u32> },
    /// Upload of packed texels of an input.
    Input { input: usize, texels: Range<usize> },
    /// Download of packed texels of an output.
    Output { output: usize, texels: Range<usize> },
}
