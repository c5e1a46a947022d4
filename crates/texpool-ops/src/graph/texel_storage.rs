//! Representation of a tensor's values in texels.

/// Representation of four values in one texel or more.
///
/// ```
/// use texpool::graph::TexelStorage;
///
/// // A picture's bytes, from 0 to 1.
/// let pixels = TexelStorage::Bytes { scale: 1.0 / 256.0, least: 0 };
/// assert_eq!((pixels.byte(0.5), pixels.value(128)), (128, 0.5));
/// assert_eq!((pixels.byte(-1.0), pixels.byte(9.0)), (0, 255));
/// assert_eq!([TexelStorage::Values, pixels, TexelStorage::Planes].map(TexelStorage::texels), [1, 1, 4]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum TexelStorage {
    /// A texel holds four values in the format of the pool.
    #[default]
    Values,
    /// A texel of bytes holds four values, which are whole multiples of a scale: `scale * (byte + least)`.
    Bytes {
        /// Difference between the values of two consecutive bytes.
        scale: f32,
        /// Multiple of the scale that byte 0 represents, at most 0. Zero always has a byte.
        least: i16,
    },
    /// Four texels of bytes hold four 32-bit floats. A row of the tensor has four planes: first the lowest byte of each
    /// float, last the highest.
    Planes,
}

impl TexelStorage {
    /// Bytes of a float, and planes of a row that holds floats.
    pub const PLANES: usize = size_of::<f32>();

    /// Returns the number of texels that hold four values.
    pub const fn texels(self) -> usize {
        match self {
            Self::Values | Self::Bytes { .. } => 1,
            Self::Planes => Self::PLANES,
        }
    }

    /// Returns the byte that represents the nearest value. NaN becomes 255, as in shaders.
    pub fn byte(self, value: f32) -> u8 {
        let (scale, least) = self.steps();
        // The conversion saturates.
        if value.is_nan() { u8::MAX } else { ((value / scale).round() - f32::from(least)) as u8 }
    }

    /// Returns the value that a byte represents.
    pub fn value(self, byte: u8) -> f32 {
        let (scale, least) = self.steps();
        (f32::from(byte) + f32::from(least)) * scale
    }

    /// Returns the scale and the multiple of it that byte 0 represents. Bytes that number no values are themselves.
    const fn steps(self) -> (f32, i16) {
        match self {
            Self::Bytes { scale, least } => (scale, least),
            Self::Values | Self::Planes => (1.0, 0),
        }
    }
}
