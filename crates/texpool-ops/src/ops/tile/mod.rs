//! Tile: repeats a whole tensor along each axis.

mod execution;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{AXIS, multiple, only},
};
use crate::graph::Shape;

/// Repeats `x` along each axis until the result's extent is filled.
///
/// ```
/// use texpool::graph::{Op, Shape, infer};
///
/// let (x, wide) = (Shape::new(1, 1, 1, 3), Shape::new(1, 4, 4, 6));
/// assert_eq!(infer(&Op::Tile, &[x], wide)?, wide);
/// assert!(infer(&Op::Tile, &[x], Shape { c: 7, ..wide }).is_err()); // only whole repetitions
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile;

impl OpSchema for Tile {
    fn name(&self) -> &'static str {
        "TILE"
    }

    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
        let x = only(inputs)?.dims();
        for (axis, extent) in stated.dims().into_iter().enumerate() {
            // Only whole repetitions are allowed: row dependencies and kernel use remainders, which would silently
            // truncate the last one.
            multiple(AXIS[axis], extent, x[axis])?;
        }
        Ok(stated)
    }

    fn origin(&self) -> Origin {
        Origin::Moved
    }
}
