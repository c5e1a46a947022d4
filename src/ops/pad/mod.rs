//! Pad: adds elements around each axis, or cuts elements off.

mod axis;
mod lowering;
mod reference;

pub use axis::{PadAxis, PadMode};

use super::schema::{
    OpSchema, ShapeError,
    shapes::{AXIS, only},
};
use crate::graph::Shape;

/// Adds elements around each axis of `x`, or cuts elements off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pad {
    /// Elements added before each axis; a negative number cuts that many off.
    pub before: [isize; 4],
    /// Elements added after each axis; a negative number cuts that many off.
    pub after: [isize; 4],
    /// Values of the added elements.
    pub mode: PadMode,
}

impl OpSchema for Pad {
    fn name(&self) -> &'static str {
        "PAD"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let mut dims = only(inputs)?.dims();
        for axis in 0..4 {
            let around = [self.before[axis], self.after[axis]];
            let kept = PadAxis::new(dims[axis], around[0], around[1]).map(|axis| axis.kept);
            // If a whole axis is cut off, a constant can fill it, but no elements are left to mirror or repeat.
            let filled = matches!(self.mode, PadMode::Constant(_)) && around.iter().any(|&n| n > 0);
            if kept.is_none() || kept == Some(0) && !filled {
                return Err(ShapeError::Cut { axis, before: around[0], after: around[1], extent: dims[axis] });
            }
            dims[axis] = around
                .iter()
                .try_fold(dims[axis] as isize, |extent, &n| extent.checked_add(n))
                .and_then(|extent| usize::try_from(extent).ok())
                .ok_or(ShapeError::Overflow { what: AXIS[axis] })?;
        }
        Ok(dims.into())
    }

    fn constant_operands(&self) -> &'static [(usize, &'static str)] {
        &[]
    }

    fn moves_only(&self) -> bool {
        true
    }
}
