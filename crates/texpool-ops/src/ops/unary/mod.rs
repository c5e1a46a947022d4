//! Functions of one value, `x`.

mod kernel;
mod reference;

use super::schema::{OpSchema, Origin, ShapeError, shapes::only};
use crate::graph::Shape;

pub use crate::graph::function::Unary;

impl OpSchema for Unary {
    fn name(&self) -> &'static str {
        (*self).name()
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        only(inputs)
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
