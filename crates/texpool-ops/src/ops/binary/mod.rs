//! Functions of two values, `a, b`; each pair of extents is equal, or one of them is one.

pub(super) mod kernel;
pub(super) mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{broadcast, pair},
};
use crate::graph::Shape;

pub use crate::graph::function::Binary;

impl OpSchema for Binary {
    fn name(&self) -> &'static str {
        Self::name(*self)
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let (a, b) = pair(inputs)?;
        broadcast(a, b)
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
