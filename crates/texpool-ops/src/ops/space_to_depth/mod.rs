//! Space to depth: moves blocks of pixels into channels.

mod execution;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{multiple, only, times},
};
use crate::graph::Shape;

/// Moves blocks of `block` by `block` pixels of `x` to channels. This is the inverse of
/// [`DepthToSpace`](crate::graph::DepthToSpace) with the order [`Dcr`](crate::graph::DepthOrder::Dcr).
///
/// ```
/// use texpool::graph::{Shape, SpaceToDepth, infer};
///
/// let x = Shape::new(1, 640, 640, 3);
/// assert_eq!(infer(&SpaceToDepth { block: 2 }.into(), &[x], x)?, Shape::new(1, 320, 320, 12));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceToDepth {
    /// Edge of the block in pixels.
    pub block: usize,
}

impl OpSchema for SpaceToDepth {
    fn name(&self) -> &'static str {
        "SPACE_TO_DEPTH"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let x = only(inputs)?;
        multiple("height by the block", x.h, self.block)?;
        multiple("width by the block", x.w, self.block)?;
        Ok(Shape::new(x.b, x.h / self.block, x.w / self.block, times(times(x.c, self.block)?, self.block)?))
    }

    fn origin(&self) -> Origin {
        Origin::Moved
    }
}
