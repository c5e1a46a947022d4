//! Looks up elements along an axis by a list of indices.

pub(super) mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{pair, same},
};
use crate::graph::Shape;

/// `x, indices [1, 1, 1, n]`; element `i` of the result along `axis` is the operand's element `indices[i]`. Negative
/// indices count from the end; indices outside are clamped.
///
/// ```
/// use texpool::graph::{Gather, Shape, infer};
///
/// // Five rows of an embedding table of a thousand.
/// let (table, words) = (Shape::new(1, 1, 1000, 64), Shape::new(1, 1, 1, 5));
/// assert_eq!(infer(&Gather { axis: 2 }.into(), &[table, words], table)?, Shape::new(1, 1, 5, 64));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
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

    fn origin(&self) -> Origin {
        Origin::Moved
    }
}

/// Returns the element of an axis of `extent` for `index`. Negative indices count from the end; indices outside are
/// clamped.
pub(crate) fn named(index: f32, extent: usize) -> usize {
    // The cast saturates and maps NaN to 0, so every float selects an element.
    let index = index as isize;
    let from_start = if index < 0 { index.saturating_add_unsigned(extent) } else { index };
    // `clamp` panics if the upper limit is below the lower one.
    from_start.clamp(0, (extent as isize - 1).max(0)).unsigned_abs()
}
