//! Concatenation: joins tensors along an axis.

mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{AXIS, same},
};
use crate::graph::Shape;

/// Joins one or more operands along `axis`; all other extents are equal.
///
/// ```
/// use texpool::graph::{Concat, Shape, infer};
///
/// let parts = [Shape::new(1, 8, 8, 3), Shape::new(1, 8, 8, 5)];
/// assert_eq!(infer(&Concat { axis: 3 }.into(), &parts, parts[0])?, Shape::new(1, 8, 8, 8));
/// assert!(infer(&Concat { axis: 1 }.into(), &parts, parts[0]).is_err()); // their channels differ
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concat {
    /// Axis, 0 to 3, in `B, H, W, C` order.
    pub axis: usize,
}

impl OpSchema for Concat {
    fn name(&self) -> &'static str {
        "CONCATENATION"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let Some((first, rest)) = inputs.split_first() else {
            return Err(ShapeError::Operands { expected: "1 or more", found: 0 });
        };
        if self.axis > 3 {
            return Err(ShapeError::Axes { what: "the axis" });
        }
        let mut dims = first.dims();
        for shape in rest {
            for (axis, extent) in shape.dims().into_iter().enumerate() {
                if axis == self.axis {
                    dims[axis] = dims[axis].checked_add(extent).ok_or(ShapeError::Overflow { what: AXIS[axis] })?;
                } else {
                    same(AXIS[axis], dims[axis], extent)?;
                }
            }
        }
        Ok(dims.into())
    }

    fn origin(&self) -> Origin {
        Origin::Moved
    }
}
