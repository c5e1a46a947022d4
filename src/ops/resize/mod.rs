//! Resize: changes height and width.

mod axis;
mod kernel;
mod lowering;
mod mode;
mod reference;
mod resample_kernel;
mod tensorflow;

pub use axis::{ResizeAxis, Taps};
pub use mode::{CoordMode, ResizeMode, Rounding};

use super::schema::{OpSchema, ShapeError, shapes::only};
use crate::graph::Shape;

/// Resizes height and width of `x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resize {
    /// Interpolation between pixels.
    pub mode: ResizeMode,
    /// Position of an output pixel in the input.
    pub coords: CoordMode,
    /// Scale of height and width (output by input); if `None`, the quotients of the extents.
    pub scale: Option<[f32; 2]>,
}

impl OpSchema for Resize {
    fn name(&self) -> &'static str {
        match self.mode {
            ResizeMode::Linear => "RESIZE_BILINEAR",
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

    fn constant_operands(&self) -> &'static [(usize, &'static str)] {
        &[]
    }

    fn moves_only(&self) -> bool {
        false
    }
}
