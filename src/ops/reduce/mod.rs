//! Reductions: combine all elements along some axes.

pub(super) mod kernel;
mod kind;
mod lowering;
pub(super) mod reference;

pub use kind::ReduceKind;

use super::schema::{OpSchema, ShapeError, shapes::only};
use crate::graph::Shape;

/// Minimum number of pixels for which a mean over height and width takes two steps in every plan, because an
/// invocation that adds up this many pixels takes long on any device.
pub(crate) const LARGE_MEAN: usize = 1 << 14;

/// Reduces the marked axes of `x`; exactly one axis if the result is an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduce {
    /// Function of the reduction.
    pub kind: ReduceKind,
    /// Axes to reduce to one element, in `B, H, W, C` order.
    pub axes: [bool; 4],
}

impl OpSchema for Reduce {
    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        if self.kind.is_index() && self.axes.iter().filter(|&&axis| axis).count() != 1 {
            return Err(ShapeError::Axes { what: "the axis of an index" });
        }
        let mut dims = only(inputs)?.dims();
        for (extent, reduced) in dims.iter_mut().zip(self.axes) {
            if reduced {
                *extent = 1;
            }
        }
        Ok(dims.into())
    }

    fn constant_operands(&self) -> &'static [(usize, &'static str)] {
        &[]
    }

    fn moves_only(&self) -> bool {
        false
    }
}
