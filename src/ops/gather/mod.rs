//! Looks up elements along an axis by a list of indices.

mod index;
pub(super) mod kernel;
pub(super) mod lowering;
mod reference;

pub(crate) use index::named;

use super::schema::{
    OpSchema, ShapeError,
    shapes::{pair, same},
};
use crate::graph::Shape;

/// `x, indices [1, 1, 1, n]`; element `i` of the result along `axis` is the operand's element `indices[i]`. Negative
/// indices count from the end; indices outside are clamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather {
    /// Axis, 0 to 3, in `B, H, W, C` order.
    pub axis: usize,
}

impl OpSchema for Gather {
    fn name(&self) -> &'static str {
        "GATHER"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let (x, indices) = pair(inputs)?;
        for outer in [indices.b, indices.h, indices.w] {
            same("outer extents of the indices", 1, outer)?;
        }
        let mut dims = x.dims();
        *dims.get_mut(self.axis).ok_or(ShapeError::Axes { what: "the axis" })? = indices.c;
        Ok(dims.into())
    }

    fn constant_operands(&self) -> &'static [(usize, &'static str)] {
        &[]
    }

    fn moves_only(&self) -> bool {
        true
    }
}
