//! Running sums along an axis.

mod kernel;
mod lowering;
mod reference;

use super::schema::{OpSchema, ShapeError, shapes::only};
use crate::graph::Shape;

/// The sum of all elements of `x` up to each along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CumSum {
    /// 0 to 3, in `B, H, W, C` order.
    pub axis: usize,
    /// Whether the element itself does not count.
    pub exclusive: bool,
    /// Whether from the end.
    pub reverse: bool,
}

impl OpSchema for CumSum {
    fn name(&self) -> &'static str {
        "CUMSUM"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        if self.axis > 3 { Err(ShapeError::Axes { what: "the axis summed along" }) } else { only(inputs) }
    }

    fn constant_operands(&self) -> &'static [(usize, &'static str)] {
        &[]
    }

    fn moves_only(&self) -> bool {
        false
    }
}
