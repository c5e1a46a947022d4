//! Element by element, the one along an axis that an index of its own names.

mod lowering;
mod reference;

use super::schema::{OpSchema, ShapeError, shapes::pair};
use crate::graph::Shape;

/// `x, indices`; each element of the result is the operand's at the same place but for `axis`, where the element of
/// `indices` says which. Negative indices count from the end, those outside are held inside.
///
/// The indices have no more elements along the other axes than there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatherElements {
    /// 0 to 3, in `B, H, W, C` order.
    pub axis: usize,
}

impl OpSchema for GatherElements {
    fn name(&self) -> &'static str {
        "GATHER_ELEMENTS"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let (x, indices) = pair(inputs)?;
        if self.axis > 3 {
            return Err(ShapeError::Axes { what: "the axis" });
        }
        for (other, (extent, wanted)) in x.dims().into_iter().zip(indices.dims()).enumerate() {
            if other != self.axis && wanted > extent {
                return Err(ShapeError::Index { axis: other, index: wanted as i128 - 1, extent });
            }
        }
        Ok(indices)
    }

    fn constant_operands(&self) -> &'static [(usize, &'static str)] {
        &[]
    }

    fn moves_only(&self) -> bool {
        true
    }
}
