//! TensorFlow Lite's resizes, whose reference computes in 32 bits and in a specific order.

use super::{
    CoordMode::{AlignCorners, Asymmetric, HalfPixel},
    Resize, ResizeMode,
    Rounding::{Floor, PreferCeil},
};

/// Position of an output pixel in the input.
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
    /// True for bilinear, false for the nearest pixel.
    pub(super) bilinear: bool,
    /// Position of an output pixel in the input.
    pub(super) coords: Coords,
}

impl TensorFlowResize {
    /// Converts a resize, if it is one of TensorFlow Lite's.
    pub(super) fn of(resize: &Resize) -> Option<Self> {
        // TensorFlow Lite always uses the quotient of the extents.
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
    /// Returns whether this is one of TensorFlow Lite's resizes, whose reference computes in 32 bits and in a
    /// specific order.
    pub fn follows_tensorflow(&self) -> bool {
        TensorFlowResize::of(self).is_some()
    }
}
