//! Reshape: changes the shape and keeps the elements in dense order.

mod execution;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{count, only, same},
};
use crate::graph::Shape;

/// Gives `x` another shape; its elements stay in dense order.
///
/// ```
/// use texpool::graph::{Op, Shape, infer};
///
/// let (x, flat) = (Shape::new(1, 4, 4, 2), Shape::new(1, 1, 1, 32));
/// assert_eq!(infer(&Op::Reshape, &[x], flat)?, flat);
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reshape;

impl OpSchema for Reshape {
    fn name(&self) -> &'static str {
        "RESHAPE"
    }

    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
        let elements = count(only(inputs)?, "elements of the input")?;
        same("elements", elements, count(stated, "elements of the output")?)?;
        Ok(stated)
    }

    fn origin(&self) -> Origin {
        Origin::Moved
    }
}
