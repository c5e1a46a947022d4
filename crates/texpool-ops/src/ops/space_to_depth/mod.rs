//! Space to depth: moves blocks of pixels into channels.

mod execution;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{multiple, only, times},
};
use crate::graph::Shape;

/// Moves blocks of pixels of `x` to channels. This is the inverse of
/// [`DepthToSpace`](crate::graph::DepthToSpace) with the order [`Dcr`](crate::graph::DepthOrder::Dcr).
///
/// ```
/// use texpool::graph::{Shape, SpaceToDepth, infer};
///
/// let x = Shape::new(1, 640, 640, 3);
/// assert_eq!(infer(&SpaceToDepth { block: [2, 2] }.into(), &[x], x)?, Shape::new(1, 320, 320, 12));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceToDepth {
    /// Rows and columns of a block.
    pub block: [usize; 2],
}

impl OpSchema for SpaceToDepth {
    fn name(&self) -> &'static str {
        "SPACE_TO_DEPTH"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let x = only(inputs)?;
        let [rows, columns] = self.block;
        multiple("height by the block", x.h, rows)?;
        multiple("width by the block", x.w, columns)?;
        Ok(Shape::new(x.b, x.h / rows, x.w / columns, times(times(x.c, rows)?, columns)?))
    }

    fn origin(&self) -> Origin {
        Origin::Moved
    }
}
