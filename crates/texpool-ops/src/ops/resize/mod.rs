//! Resize: changes height and width.
//!
//! The definitions are those of ONNX's operator Resize as implemented in ONNX Runtime, and include TensorFlow's three
//! conventions. `in` and `out` are whole numbers of pixels, even if the scale does not lead to a whole number.

mod axis;
mod kernel;
mod reference;
mod resample_kernel;

pub use axis::{ResizeAxis, Taps};

use super::schema::{OpSchema, Origin, ShapeError, shapes::only};
use crate::graph::Shape;

/// Resizes height and width of `x`.
///
/// ```
/// use texpool::graph::{CoordMode, Resize, ResizeMode, Shape, infer};
///
/// let bilinear = Resize { mode: ResizeMode::Linear, coords: CoordMode::HalfPixel, scale: None };
/// let (x, stated) = (Shape::new(1, 8, 8, 3), Shape::new(1, 13, 20, 3));
/// assert_eq!(infer(&bilinear.into(), &[x], stated)?, stated);
/// let cubic = ResizeMode::Cubic { a: -0.75, exclude_outside: false };
/// assert!(bilinear.follows_tensorflow() && !Resize { mode: cubic, ..bilinear }.follows_tensorflow());
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resize {
    /// Interpolation between pixels.
    pub mode: ResizeMode,
    /// Position of an output pixel in the input.
    pub coords: CoordMode,
    /// Scale of height and width (output by input); if `None`, the quotients of the extents.
    pub scale: Option<[f32; 2]>,
}

/// Rounding of a position between two pixels.
///
/// ```
/// use texpool::graph::{CoordMode, Resize, ResizeAxis, ResizeMode, Rounding};
///
/// // Four pixels become two: the first of these lies halfway between pixels 0 and 1.
/// let first = |rounding| {
///     let resize = Resize { mode: ResizeMode::Nearest(rounding), coords: CoordMode::HalfPixel, scale: None };
///     ResizeAxis::new(&resize, 1, 4, 2).at(0).unwrap().first
/// };
/// assert_eq!((first(Rounding::PreferFloor), first(Rounding::PreferCeil)), (0, 1));
/// ```
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
///
/// ```
/// use texpool::graph::{CoordMode, ResizeMode, Rounding};
///
/// // TensorFlow rounds to the nearest pixel only if centres or corners are aligned.
/// assert_eq!(ResizeMode::nearest_in(CoordMode::HalfPixel), ResizeMode::Nearest(Rounding::PreferCeil));
/// assert_eq!(ResizeMode::nearest_in(CoordMode::Asymmetric), ResizeMode::Nearest(Rounding::Floor));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResizeMode {
    /// One pixel.
    Nearest(Rounding),
    /// Linear in both directions, between two pixels.
    Linear,
    /// Linear in both directions, between two pixels of 8-bit integers. Positions are rounded down to 1024ths of a pixel,
    /// and results to the next integer toward zero, as in ONNX Runtime.
    LinearInteger,
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
///
/// ```
/// use texpool::graph::{CoordMode, Resize, ResizeAxis, ResizeMode};
///
/// // Two pixels become four: the weights of the two in the second of the four.
/// let second = |coords| {
///     let axis = ResizeAxis::new(&Resize { mode: ResizeMode::Linear, coords, scale: None }, 1, 2, 4);
///     axis.at(1).unwrap().weights
/// };
/// assert_eq!(second(CoordMode::Asymmetric)[..2], [0.5, 0.5]);
/// assert_eq!(second(CoordMode::HalfPixel)[..2], [0.75, 0.25]);
/// ```
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

impl OpSchema for Resize {
    fn name(&self) -> &'static str {
        match self.mode {
            ResizeMode::Linear | ResizeMode::LinearInteger => "RESIZE_BILINEAR",
            ResizeMode::Nearest(_) => "RESIZE_NEAREST_NEIGHBOR",
            ResizeMode::Cubic { .. } => "RESIZE_BICUBIC",
        }
    }

    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
        let x = only(inputs)?;
        if self.scale.iter().flatten().any(|scale| !scale.is_finite() || *scale <= 0.0) {
            return Err(ShapeError::Range { what: "the scale" });
        }
        if let CoordMode::TfCropAndResize { start, end, .. } = self.coords
            && !start.iter().chain(&end).all(|part| part.is_finite())
        {
            return Err(ShapeError::Range { what: "the corner" });
        }
        Ok(Shape { b: x.b, c: x.c, ..stated })
    }

    fn origin(&self) -> Origin {
        let crops = matches!(self.coords, CoordMode::TfCropAndResize { .. });
        if matches!(self.mode, ResizeMode::Nearest(_)) && !crops { Origin::Moved } else { Origin::Computed }
    }
}

/// Position of an output pixel in the input, in TensorFlow Lite's conventions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coords {
    /// [`CoordMode::Asymmetric`]
    Asymmetric,
    /// [`CoordMode::HalfPixel`]
    HalfPixel,
    /// [`CoordMode::AlignCorners`]
    AlignCorners,
}

/// One of TensorFlow Lite's resizes, whose reference computes in 32 bits and in a specific order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TensorFlowResize {
    /// True for bilinear, false for the nearest pixel.
    bilinear: bool,
    /// Position of an output pixel in the input.
    coords: Coords,
}

impl TensorFlowResize {
    /// Converts a resize, if it is one of TensorFlow Lite's.
    fn of(resize: &Resize) -> Option<Self> {
        // TensorFlow Lite always uses the quotient of the extents.
        let Resize { mode, coords, scale: None } = *resize else { return None };
        let bilinear = mode == ResizeMode::Linear;
        let coords = match (mode, coords) {
            (ResizeMode::Linear | ResizeMode::Nearest(Rounding::Floor), CoordMode::Asymmetric) => Coords::Asymmetric,
            (ResizeMode::Linear | ResizeMode::Nearest(Rounding::PreferCeil), CoordMode::HalfPixel) => Coords::HalfPixel,
            (ResizeMode::Linear | ResizeMode::Nearest(Rounding::PreferCeil), CoordMode::AlignCorners) => {
                Coords::AlignCorners
            }
            _ => return None,
        };
        Some(Self { bilinear, coords })
    }
}

impl Resize {
    /// Returns whether this is one of TensorFlow Lite's resizes, whose reference computes in 32 bits and in a
    /// specific order.
    pub fn follows_tensorflow(&self) -> bool {
        TensorFlowResize::of(self).is_some()
    }
}
