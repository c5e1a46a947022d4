//! Quantisation with a scale and a zero point that a run computes from the values, as ONNX's `DynamicQuantizeLinear`
//! does: the range of all values and zero is divided into 255 steps.

mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{only, pair, same},
};
use crate::graph::Shape;

/// Number of steps from the least integer to the greatest.
const STEPS: f32 = 255.0;

/// Least and greatest value of each pixel's channels and zero, as two channels.
///
/// [`DynamicScale`] of many channels reads these values in place of its operand's, and gives the same result.
///
/// ```
/// use texpool::graph::{Op, Shape, infer};
///
/// let x = Shape::new(1, 1, 128, 384);
/// assert_eq!(infer(&Op::Extremes, &[x], x)?, Shape::new(1, 1, 128, 2));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extremes;

/// Scale and zero point of all values, as the two channels of one pixel. The scale of zeros is one.
///
/// ```
/// use texpool::graph::{Op, Shape, infer};
///
/// let x = Shape::new(1, 1, 128, 384);
/// assert_eq!(infer(&Op::DynamicScale, &[x], x)?, Shape::new(1, 1, 1, 2));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicScale;

/// Integers `min(max(round(x / scale) + zero, 0), 255)` of an operand `x`; the other operand is the result of a
/// [`DynamicScale`].
///
/// ```
/// use texpool::graph::{DynamicQuantize, Shape, infer};
///
/// let x = Shape::new(1, 1, 128, 384);
/// let integers = DynamicQuantize { from_zero: true };
/// assert_eq!(infer(&integers.into(), &[x, Shape::new(1, 1, 1, 2)], x)?, x);
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicQuantize {
    /// If true, the zero point is subtracted, so that integers lie between -255 and 255.
    pub from_zero: bool,
}

impl OpSchema for Extremes {
    fn name(&self) -> &'static str {
        "EXTREMES"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        Ok(Shape { c: 2, ..only(inputs)? })
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}

impl OpSchema for DynamicScale {
    fn name(&self) -> &'static str {
        "DYNAMIC_SCALE"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        only(inputs).map(|_| Shape::new(1, 1, 1, 2))
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}

impl OpSchema for DynamicQuantize {
    fn name(&self) -> &'static str {
        "DYNAMIC_QUANTIZE"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let (x, scale) = pair(inputs)?;
        for (what, expected, found) in [
            ("pixels of scale and zero point", 1, scale.b * scale.h * scale.w),
            ("channels of scale and zero point", 2, scale.c),
        ] {
            same(what, expected, found)?;
        }
        Ok(x)
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
