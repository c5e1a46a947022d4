//! 2-D convolutions, with groups.

pub(crate) mod kernel;
mod reference;
pub(super) mod weights;

use super::schema::{
    OpSchema, Origin, ShapeError, WEIGHTS_AND_BIAS,
    shapes::{bias_fits, multiple, same, weighted},
    window::slide,
};
use crate::graph::{Padding, Shape};

/// A 2-D convolution: `x, weights [O, KH, KW, I / groups], [bias [O]]`.
///
/// ```
/// use texpool::graph::{Conv2d, Padding, Shape, infer};
///
/// // Dilated by two, a window of 3 by 3 spans 5 by 5 pixels. Each of the two groups reads half of the channels.
/// let conv = Conv2d { stride: [1, 1], dilation: [2, 2], padding: Padding::default(), groups: 2 };
/// let (x, weights) = (Shape::new(1, 8, 8, 6), Shape::new(16, 3, 3, 3));
/// assert_eq!(infer(&conv.into(), &[x, weights], x)?, Shape::new(1, 4, 4, 16));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2d {
    /// Stride `[y, x]`.
    pub stride: [usize; 2],
    /// Dilation `[y, x]`.
    pub dilation: [usize; 2],
    /// Zeros around the input.
    pub padding: Padding,
    /// Channel groups; ignored for a depthwise convolution.
    pub groups: usize,
}

impl OpSchema for Conv2d {
    fn name(&self) -> &'static str {
        "CONV_2D"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let (x, weights, bias) = weighted(inputs)?;
        // Also rejects zero groups, by which the extents below are divided.
        multiple("input channels by groups", x.c, self.groups)?;
        multiple("output channels by groups", weights.b, self.groups)?;
        same("input channels of the weights", x.c / self.groups, weights.c)?;
        bias_fits(bias, weights.b)?;
        let [h, w] = slide(x, [weights.h, weights.w], self.stride, self.dilation, self.padding)?;
        Ok(Shape::new(x.b, h, w, weights.b))
    }

    fn origin(&self) -> Origin {
        Origin::Weights(&WEIGHTS_AND_BIAS)
    }
}
