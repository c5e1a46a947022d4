//! How a resize finds and mixes input pixels: its modes.
//!
//! The definitions are those of ONNX's operator Resize as ONNX Runtime computes it; TensorFlow's three conventions are
//! among them. `in` and `out` are whole numbers of pixels, also where the scale is none that leads to a whole number.

/// Where a position between two pixels goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest pixel, from the middle down.
    PreferFloor,
    /// To the nearest pixel, from the middle up.
    PreferCeil,
    /// Down.
    Floor,
    /// Up.
    Ceil,
}

/// How a resize fills pixels in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResizeMode {
    /// One pixel.
    Nearest(Rounding),
    /// Linear in both directions, between two pixels.
    Linear,
    /// Cubic in both directions, between four pixels.
    Cubic {
        /// The cubic's parameter; -0.75 and -0.5 are common.
        a: f32,
        /// Whether pixels outside the image are left out; else the border's pixels are repeated.
        exclude_outside: bool,
    },
}

impl ResizeMode {
    /// TensorFlow's nearest pixel in one of its three conventions.
    pub const fn nearest_in(coords: CoordMode) -> Self {
        match coords {
            CoordMode::HalfPixel | CoordMode::AlignCorners => Self::Nearest(Rounding::PreferCeil),
            _ => Self::Nearest(Rounding::Floor),
        }
    }
}

/// Where an output pixel `x` lies in the input image, `scale` being output by input. An axis whose scale is 1 stays as it
/// is, also where a crop is stated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CoordMode {
    /// `x / scale`
    Asymmetric,
    /// `(x + 0.5) / scale - 0.5`
    HalfPixel,
    /// As [`HalfPixel`](Self::HalfPixel), but 0 where the result is one pixel.
    PytorchHalfPixel,
    /// `x * (in - 1) / (out - 1)`
    AlignCorners,
    /// As [`HalfPixel`](Self::HalfPixel), around the middle of the image where the result's extent was rounded.
    HalfPixelSymmetric,
    /// `start * (in - 1) + x * (end - start) * (in - 1) / (out - 1)`, TensorFlow's crop and resize.
    TfCropAndResize {
        /// First corner `[y, x]` as parts of the image.
        start: [f32; 2],
        /// Last corner.
        end: [f32; 2],
        /// What pixels outside the image are.
        extrapolation: f32,
    },
}
