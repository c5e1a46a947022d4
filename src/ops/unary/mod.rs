//! Functions of one value, `x`.

mod kernel;
mod lowering;
mod reference;

use super::schema::{OpSchema, ShapeError, shapes::only};
use crate::graph::Shape;

pub use crate::graph::function::Unary;

impl OpSchema for Unary {
    fn name(&self) -> &'static str {
        (*self).name()
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        only(inputs)
    }

    fn constant_operands(&self) -> &'static [(usize, &'static str)] {
        &[]
    }

    fn moves_only(&self) -> bool {
        false
    }
}
