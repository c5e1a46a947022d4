//! Normalization: divides values by a measure of their magnitude, so that their variance, mean square or norm becomes
//! one.

mod kernel;
mod reference;

use super::schema::{OpSchema, Origin, ShapeError, shapes::only};
use crate::graph::Shape;

/// `x / max(sqrt(scale * statistic + epsilon) + offset, least)` over the marked axes; with the variance, the distance
/// from the mean takes the place of `x`. Covers layer and instance normalization, RMS normalization and L2
/// normalization. All intermediate results have 32 bits, even if the textures have 16.
///
/// ```
/// use texpool::graph::{Normalize, Op, Statistic};
///
/// let channels = [false, false, false, true];
/// let layer = Normalize::variance(channels, 1e-5);
/// assert_eq!((layer.statistic, layer.scale, layer.least), (Statistic::Variance, 1.0, 0.0));
/// let rms = Normalize::new(channels, Statistic::MeanSquare, 1e-6);
/// assert_eq!((Op::from(layer).name(), Op::from(rms).name()), ("MeanVarianceNormalization", "RMSNormalization"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalize {
    /// Axes that share a statistic, in `B, H, W, C` order.
    pub axes: [bool; 4],
    /// The statistic.
    pub statistic: Statistic,
    /// Factor of the statistic.
    pub scale: f32,
    /// Constant added under the root.
    pub epsilon: f32,
    /// Constant added to the root.
    pub offset: f32,
    /// Lower limit on the divisor.
    pub least: f32,
}

/// Statistic that a normalization measures.
///
/// ```
/// use texpool::graph::{Normalize, Op, Statistic};
///
/// // Divides by the length of a pixel's vector, but by no less than 1e-12.
/// let plain = Normalize::new([false, false, false, true], Statistic::SumSquare, 0.0);
/// let length = Normalize { least: 1e-12, ..plain };
/// assert_eq!(Op::from(length).name(), "L2_NORMALIZATION");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Mean of the squared distances from the mean (population variance).
    Variance,
    /// Mean of the squares.
    MeanSquare,
    /// Sum of the squares.
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

    /// Returns the divisor for the sum of the squares of `count` values.
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

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
