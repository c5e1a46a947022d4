//! Softmax over channels, and its logarithm.

mod kernel;
mod reference;

use super::schema::{OpSchema, Origin, ShapeError, shapes::only};
use crate::graph::Shape;

/// Softmax of `beta * x` over channels.
///
/// ```
/// use texpool::graph::{Op, Softmax};
///
/// assert_eq!(Op::from(Softmax { beta: 1.0, log: false }).name(), "SOFTMAX");
/// assert_eq!(Op::from(Softmax { beta: 1.0, log: true }).name(), "LOG_SOFTMAX");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softmax {
    /// Factor of the exponent.
    pub beta: f32,
    /// If true, the result is the logarithm.
    pub log: bool,
}

impl OpSchema for Softmax {
    fn name(&self) -> &'static str {
        if self.log { "LOG_SOFTMAX" } else { "SOFTMAX" }
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        only(inputs)
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
