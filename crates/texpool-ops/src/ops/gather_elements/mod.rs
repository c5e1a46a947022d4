//! Looks up each element along an axis with a separate index.

mod execution;

use super::schema::{OpSchema, Origin, ShapeError, shapes::pair};
use crate::graph::Shape;

/// `x, indices`; each element of the result is the operand's element at the same position, except along `axis`, where
/// `indices` gives the position. Negative indices count from the end; indices outside are clamped.
///
/// Along the other axes, the indices do not have more elements than the operand.
///
/// ```
/// use texpool::graph::{GatherElements, Shape, infer};
///
/// // Three of a hundred boxes for each class.
/// let (scores, places) = (Shape::new(1, 1, 100, 20), Shape::new(1, 1, 3, 20));
/// assert_eq!(infer(&GatherElements { axis: 2 }.into(), &[scores, places], scores)?, places);
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatherElements {
    /// Axis, 0 to 3, in `B, H, W, C` order.
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

    fn origin(&self) -> Origin {
        Origin::Moved
    }
}
