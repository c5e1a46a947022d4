//! A tensor repeated whole along each axis.

mod lowering;
mod reference;

use super::schema::{
    OpSchema, ShapeError,
    shapes::{AXIS, multiple, only},
};
use crate::graph::Shape;

/// `x` repeated whole along each axis until the result's extent is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile;

impl OpSchema for Tile {
    fn name(&self) -> &'static str {
        "TILE"
    }

    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
        let x = only(inputs)?.dims();
        for (axis, extent) in stated.dims().into_iter().enumerate() {
            // Only whole repetitions, as rows and kernel take remainders: they would cut the last one off in silence.
            multiple(AXIS[axis], extent, x[axis])?;
        }
        Ok(stated)
    }

    fn constant_operands(&self) -> &'static [(usize, &'static str)] {
        &[]
    }

    fn moves_only(&self) -> bool {
        true
    }
}
