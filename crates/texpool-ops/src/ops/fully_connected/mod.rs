//! Fully connected layers.

pub(super) mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError, WEIGHTS_AND_BIAS,
    shapes::{bias_fits, count, multiple, same, weighted},
};
use crate::graph::Shape;

/// A fully connected layer: `x, weights [O, I], [bias [O]]`; every `I` values of `x` in dense order give one row of
/// the result.
///
/// ```
/// use texpool::graph::{Op, Shape, infer};
///
/// // Images of 7 by 7 pixels are taken as rows of 49 values without a reshape.
/// let (x, weights) = (Shape::new(2, 7, 7, 1), Shape::new(1, 1, 10, 49));
/// let stated = Shape::new(1, 1, 2, 10);
/// assert_eq!(infer(&Op::FullyConnected, &[x, weights], stated)?, stated);
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullyConnected;

impl OpSchema for FullyConnected {
    fn name(&self) -> &'static str {
        "FULLY_CONNECTED"
    }

    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
        let (x, weights, bias) = weighted(inputs)?;
        same("outer extents of the weights", 1, weights.b)?;
        same("outer extents of the weights", 1, weights.h)?;
        let (outputs, depth) = (weights.w, weights.c);
        bias_fits(bias, outputs)?;
        let elements = count(x, "elements of the input")?;
        // Also rejects a depth of zero, by which the next line divides.
        multiple("elements of the input by columns of the weights", elements, depth)?;
        let rows = elements / depth;
        same("output channels", outputs, stated.c)?;
        let pixels = count(Shape { c: 1, ..stated }, "pixels of the output")?;
        same("rows of the output", rows, pixels)?;
        Ok(stated)
    }

    fn origin(&self) -> Origin {
        Origin::Weights(&WEIGHTS_AND_BIAS)
    }
}
