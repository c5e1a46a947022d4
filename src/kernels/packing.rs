//! How a node's weights lie in a texture.

/// How the weights of a node lie in their texture. What is none of its weights proper (biases, scales, alphas) is four
/// 32-bit floats a texel in a texture of words, and a texel like any other else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WeightPacking {
    /// As texels of the pool's format, four weights each.
    #[default]
    Texels,
    /// As 16-bit floats in words, eight weights a texel.
    Halves,
    /// As 8-bit integers in words, sixteen weights a texel; in front of those of each slice of the result stand a scale
    /// and a zero for each of its channels.
    Bytes,
}

impl WeightPacking {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Texels, Self::Halves, Self::Bytes];

    /// Whether the texture is one of words: `Rgba32Uint`, whatever the pool's format is. No float is between the bits
    /// that are written and those that are read, so they are the same on every device.
    pub const fn is_words(self) -> bool {
        match self {
            Self::Texels => false,
            Self::Halves | Self::Bytes => true,
        }
    }

    /// Texels of the pool that hold as many weights as one of these.
    pub(crate) const fn per_texel(self) -> usize {
        match self {
            Self::Texels => 1,
            Self::Halves => 2,
            Self::Bytes => 4,
        }
    }

    /// Texels that the weights of a slice of the result take, of so many texels of the pool: with scale and zero.
    pub(crate) const fn slice_texels(self, of_pool: usize) -> usize {
        let scale_texels = match self {
            Self::Texels | Self::Halves => 0,
            Self::Bytes => 2,
        };
        scale_texels + of_pool.div_ceil(self.per_texel())
    }
}

/// The second operand of an operator as weights for each channel of the result. Packed as texels, those of each slice
/// of the result stand together, a channel a lane; then come the biases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChannelWeights {
    /// The axis of the operand, of `[B, H, W, C]`, that the channels of the result are.
    pub(crate) axis: usize,
    /// Texels of a slice.
    pub(crate) slice_texels: usize,
}
