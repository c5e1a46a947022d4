//! TensorFlow Lite's resizes, whose reference works in 32 bits and in an order of its own.

use super::{
    CoordMode::{AlignCorners, Asymmetric, HalfPixel},
    Resize, ResizeMode,
    Rounding::{Floor, PreferCeil},
};

/// Where an output pixel lies in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coords {
    /// [`CoordMode::Asymmetric`]
    Asymmetric,
    /// [`CoordMode::HalfPixel`]
    HalfPixel,
    /// [`CoordMode::AlignCorners`]
    AlignCorners,
}

/// One of TensorFlow Lite's resizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TensorFlowResize {
    /// Whether bilinear; else the nearest pixel is taken.
    pub(super) bilinear: bool,
    /// Where an output pixel lies in the input.
    pub(super) coords: Coords,
}

impl TensorFlowResize {
    /// The resize, if it is one of TensorFlow Lite's.
    pub(super) fn of(resize: &Resize) -> Option<Self> {
        // TensorFlow Lite always takes the quotient of the extents.
        let Resize { mode, coords, scale: None } = *resize else { return None };
        let bilinear = mode == ResizeMode::Linear;
        let coords = match (mode, coords) {
            (ResizeMode::Linear | ResizeMode::Nearest(Floor), Asymmetric) => Coords::Asymmetric,
            (ResizeMode::Linear | ResizeMode::Nearest(PreferCeil), HalfPixel) => Coords::HalfPixel,
            (ResizeMode::Linear | ResizeMode::Nearest(PreferCeil), AlignCorners) => Coords::AlignCorners,
            _ => return None,
        };
        Some(Self { bilinear, coords })
    }
}

impl Resize {
    /// Whether it is one of TensorFlow Lite's, whose reference works in 32 bits and in an order of its own.
    pub fn follows_tensorflow(&self) -> bool {
        TensorFlowResize::of(self).is_some()
    }
}
