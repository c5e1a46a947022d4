//! Tile: repeats a whole tensor along each axis.

mod execution;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{AXIS, multiple, only},
};
use crate::graph::Shape;

/// Repeats `x` along each axis until the result's extent is filled.
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
