//! PReLU: `x < 0 ? alpha * x : x`, with a second operand of alphas.

mod execution;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{broadcast, pair},
};
use crate::graph::Shape;

/// `x, alpha`: `x < 0 ? alpha * x : x`. As in TensorFlow Lite, alpha is broadcast to the input, but the input is
/// never broadcast to alpha.
///
/// ```
/// use texpool::graph::{Op, Shape, infer};
///
/// let (x, alpha) = (Shape::new(1, 8, 8, 3), Shape::new(1, 1, 1, 3));
/// assert_eq!(infer(&Op::Prelu, &[x, alpha], x)?, x);
/// assert!(infer(&Op::Prelu, &[alpha, x], x).is_err());
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prelu;

impl OpSchema for Prelu {
    fn name(&self) -> &'static str {
        "PRELU"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let (x, alpha) = pair(inputs)?;
        if broadcast(x, alpha)? == x { Ok(x) } else { Err(ShapeError::Broadcast { a: x, b: alpha }) }
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
