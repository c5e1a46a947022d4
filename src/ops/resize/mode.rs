//! Modes of a resize: coordinates and interpolation.
//!
//! The definitions are those of ONNX's operator Resize as implemented in ONNX Runtime, and include TensorFlow's three
//! conventions. `in` and `out` are whole numbers of pixels, even if the scale does not lead to a whole number.

/// Rounding of a position between two pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest pixel; the middle rounds down.
    PreferFloor,
    /// To the nearest pixel; the middle rounds up.
    PreferCeil,
    /// Down.
    Floor,
    /// Up.
    Ceil,
}

/// Interpolation between pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResizeMode {
    /// One pixel.
    Nearest(Rounding),
    /// Linear in both directions, between two pixels.
    Linear,
    /// Cubic in both directions, between four pixels.
    Cubic {
        /// Parameter of the cubic; -0.75 and -0.5 are common.
        a: f32,
        /// If true, pixels outside the image are left out; otherwise, border pixels are repeated.
        exclude_outside: bool,
    },
}

impl ResizeMode {
    /// Returns TensorFlow's nearest-pixel mode for one of its three conventions.
    pub const fn nearest_in(coords: CoordMode) -> Self {
        match coords {
            CoordMode::HalfPixel | CoordMode::AlignCorners => Self::Nearest(Rounding::PreferCeil),
            _ => Self::Nearest(Rounding::Floor),
        }
    }
}

/// Position of an output pixel `x` in the input image; `scale` is output by input. An axis whose scale is 1 is not
/// changed, even if a crop is specified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CoordMode {
    /// `x / scale`
    Asymmetric,
    /// `(x + 0.5) / scale - 0.5`
    HalfPixel,
    /// Like [`HalfPixel`](Self::HalfPixel), but 0 if the result has only one pixel.
    PytorchHalfPixel,
    /// `x * (in - 1) / (out - 1)`
    AlignCorners,
    /// Like [`HalfPixel`](Self::HalfPixel), but centred on the image if the result's extent was rounded.
    HalfPixelSymmetric,
    /// `start * (in - 1) + x * (end - start) * (in - 1) / (out - 1)`, TensorFlow's crop and resize.
    TfCropAndResize {
        /// First corner `[y, x]` as a fraction of the image.
        start: [f32; 2],
        /// Last corner `[y, x]` as a fraction of the image.
        end: [f32; 2],
        /// Value of pixels outside the image.
        extrapolation: f32,
    },
}
