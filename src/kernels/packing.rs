//! Layout of a node's weights in a texture.

/// Packing of a node's weights in their texture. Values other than the weights themselves (biases, scales, alphas)
/// are stored as four 32-bit floats per texel in a texture of words, and as ordinary texels otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WeightPacking {
    /// Texels of the pool's format, four weights each.
    #[default]
    Texels,
    /// 16-bit floats in words, eight weights per texel.
    Halves,
    /// 8-bit integers in words, sixteen weights per texel. Before the weights of each slice of the result come a
    /// scale and a zero point for each of its channels.
    Bytes,
}

impl WeightPacking {
    /// All packings.
    pub const ALL: [Self; 3] = [Self::Texels, Self::Halves, Self::Bytes];

    /// Returns whether the texture consists of words (`Rgba32Uint`, regardless of the pool's format). The bits pass
    /// through no float conversion between writing and reading, so they are the same on every device.
    pub const fn is_words(self) -> bool {
        match self {
            Self::Texels => false,
            Self::Halves | Self::Bytes => true,
        }
    }

    /// Returns the number of pool texels that hold as many weights as one texel of this packing.
    pub(crate) const fn per_texel(self) -> usize {
        match self {
            Self::Texels => 1,
            Self::Halves => 2,
            Self::Bytes => 4,
        }
    }

    /// Returns the number of texels for one slice of the result, including scales and zero points, if its weights
    /// take `of_pool` texels in the pool's format.
    pub(crate) const fn slice_texels(self, of_pool: usize) -> usize {
        let scale_texels = match self {
            Self::Texels | Self::Halves => 0,
            Self::Bytes => 2,
        };
        scale_texels + of_pool.div_ceil(self.per_texel())
    }
}

/// Second operand of an operator, as weights per channel of the result. Packed as texels, the weights of each slice
/// of the result are contiguous, with one channel per lane; the biases follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChannelWeights {
    /// Axis of the operand `[B, H, W, C]` that corresponds to the channels of the result.
    pub(crate) axis: usize,
    /// Number of texels per slice.
    pub(crate) slice_texels: usize,
}
