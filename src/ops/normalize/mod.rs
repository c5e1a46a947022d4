//! Values brought to a mean of zero and a variance of one.

mod kernel;
mod lowering;
mod reference;

use super::schema::{OpSchema, ShapeError, shapes::only};
use crate::graph::Shape;

/// `(x - mean) / sqrt(variance + epsilon)` over the axes marked, the variance that of a whole population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalize {
    /// Axes of one mean and variance, in `B, H, W, C` order.
    pub axes: [bool; 4],
    /// What is added to the variance.
    pub epsilon: f32,
}

impl OpSchema for Normalize {
    fn name(&self) -> &'static str {
        "MeanVarianceNormalization"
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
