//! Grid sampling: reads pixels of an image at positions from a grid.

mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{pair, same},
};
use crate::graph::Shape;

/// `x [B, H, W, C], grid [B, OH, OW, 2]`; the result is `[B, OH, OW, C]`. Each result pixel is `x` sampled at the
/// position `(x, y)` in the grid; coordinates range from -1 to 1 across the image.
///
/// ```
/// use texpool::graph::{GridSample, Shape, infer};
///
/// let op = GridSample { linear: true, border: false, align_corners: false };
/// let (image, grid) = (Shape::new(1, 64, 64, 3), Shape::new(1, 16, 20, 2));
/// assert_eq!(infer(&op.into(), &[image, grid], image)?, Shape::new(1, 16, 20, 3));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridSample {
    /// If true, interpolates linearly between pixels. Otherwise, takes the nearest pixel; ties go to the even one.
    pub linear: bool,
    /// If true, positions outside take the nearest border pixel. Otherwise, they are zero.
    pub border: bool,
    /// If true, -1 and 1 are the centres of the outermost pixels. Otherwise, they are the outer edges.
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

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
