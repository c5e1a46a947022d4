//! Values divided by a measure of their size: to a variance, a mean square or a norm of one.

mod kernel;
mod lowering;
mod reference;

use super::schema::{OpSchema, ShapeError, shapes::only};
use crate::graph::Shape;

/// `x / max(sqrt(scale * statistic + epsilon) + offset, least)` over the axes marked; of a variance it is the distance
/// from the mean that is divided. Layer and instance normalization, RMS normalization and L2 normalization are all of
/// this form. Everything between `x` and the result is computed in 32 bits, whatever the textures hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalize {
    /// Axes of one statistic, in `B, H, W, C` order.
    pub axes: [bool; 4],
    /// The statistic.
    pub statistic: Statistic,
    /// What the statistic is multiplied by.
    pub scale: f32,
    /// What is added under the root.
    pub epsilon: f32,
    /// What is added to the root.
    pub offset: f32,
    /// The least number that is divided by.
    pub least: f32,
}

/// What a normalization measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The mean of the squared distances from the mean: the variance of a whole population.
    Variance,
    /// The mean of the squares.
    MeanSquare,
    /// The sum of the squares.
    SumSquare,
}

impl Normalize {
    /// `x / sqrt(statistic + epsilon)`.
    pub const fn new(axes: [bool; 4], statistic: Statistic, epsilon: f32) -> Self {
        Self { axes, statistic, scale: 1.0, epsilon, offset: 0.0, least: 0.0 }
    }

    /// `(x - mean) / sqrt(variance + epsilon)`.
    pub const fn variance(axes: [bool; 4], epsilon: f32) -> Self {
        Self::new(axes, Statistic::Variance, epsilon)
    }

    /// What the sum of the squares of `count` values is divided by.
    fn divisor(&self, count: f32) -> f32 {
        match self.statistic {
            Statistic::Variance | Statistic::MeanSquare => count / self.scale,
            Statistic::SumSquare => 1.0 / self.scale,
        }
    }
}

impl OpSchema for Normalize {
    fn name(&self) -> &'static str {
        match self.statistic {
            Statistic::Variance => "MeanVarianceNormalization",
            Statistic::MeanSquare => "RMSNormalization",
            Statistic::SumSquare => "L2_NORMALIZATION",
        }
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
