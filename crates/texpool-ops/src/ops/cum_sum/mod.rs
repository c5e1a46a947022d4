//! Running sums along an axis.

mod kernel;
mod reference;

use super::schema::{OpSchema, Origin, ShapeError, shapes::only};
use crate::graph::Shape;

/// Running sums of `x` along an axis.
///
/// ```
/// use texpool::graph::{CumSum, Shape, infer};
///
/// let x = Shape::new(1, 1, 7, 10);
/// let sums = CumSum { axis: 2, exclusive: false, reverse: false };
/// assert_eq!(infer(&sums.into(), &[x], x)?, x);
/// let error = infer(&CumSum { axis: 4, ..sums }.into(), &[x], x).unwrap_err();
/// assert_eq!(error.to_string(), "the axis summed along is no valid choice of axes");
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CumSum {
    /// Axis, 0 to 3, in `B, H, W, C` order.
    pub axis: usize,
    /// If true, an element's sum does not include the element.
    pub exclusive: bool,
    /// If true, sums start at the end.
    pub reverse: bool,
}

impl OpSchema for CumSum {
    fn name(&self) -> &'static str {
        "CUMSUM"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        if self.axis > 3 { Err(ShapeError::Axes { what: "the axis summed along" }) } else { only(inputs) }
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
