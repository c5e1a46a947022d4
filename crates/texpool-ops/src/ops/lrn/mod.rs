//! Local response normalization over channels.

mod kernel;
mod reference;

use super::schema::{OpSchema, Origin, ShapeError, shapes::only};
use crate::graph::Shape;

/// `x / (bias + alpha / size * sum)^beta` over channels. `sum` is the sum of squares of the `size` channels from `c -
/// floor((size - 1) / 2)` on, clipped to the channels that exist.
///
/// ```
/// use texpool::graph::{Lrn, Shape, infer};
///
/// // AlexNet's normalization.
/// let lrn = Lrn { size: 5, alpha: 1e-4, beta: 0.75, bias: 2.0 };
/// let x = Shape::new(1, 55, 55, 96);
/// assert_eq!(infer(&lrn.into(), &[x], x)?, x);
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lrn {
    /// Number of channels in the window.
    pub size: usize,
    /// Factor of the mean of the squares.
    pub alpha: f32,
    /// Exponent.
    pub beta: f32,
    /// Constant term.
    pub bias: f32,
}

impl OpSchema for Lrn {
    fn name(&self) -> &'static str {
        "LOCAL_RESPONSE_NORMALIZATION"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        if self.size == 0 { Err(ShapeError::Zero { what: "the window over channels" }) } else { only(inputs) }
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
