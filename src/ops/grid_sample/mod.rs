//! Pixels of an image at places that a grid names.

mod kernel;
mod lowering;
mod reference;

use super::schema::{
    OpSchema, ShapeError,
    shapes::{pair, same},
};
use crate::graph::Shape;

/// `x [B, H, W, C], grid [B, OH, OW, 2]`; the result is `[B, OH, OW, C]`. Each of its pixels is `x` at the place that
/// the grid names there as `(x, y)`, from -1 to 1 across the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridSample {
    /// Whether between pixels their mean by distance is taken; else the nearest pixel, the even one of two as near.
    pub linear: bool,
    /// Whether what lies outside is the pixel of the border that is next to it; else it is zero.
    pub border: bool,
    /// Whether -1 and 1 are the centres of the outermost pixels; else their outer edges.
    pub align_corners: bool,
}

impl OpSchema for GridSample {
    fn name(&self) -> &'static str {
        "GridSample"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let (x, grid) = pair(inputs)?;
        same("batches of the grid", x.b, grid.b)?;
        same("coordinates of a place", 2, grid.c)?;
        Ok(Shape { c: x.c, ..grid })
    }

    fn constant_operands(&self) -> &'static [(usize, &'static str)] {
        &[]
    }

    fn moves_only(&self) -> bool {
        false
    }
}
