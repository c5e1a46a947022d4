//! Transposed 2-D convolutions.

mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError, WEIGHTS_AND_BIAS,
    shapes::{bias_fits, multiple, same, weighted},
    window::{nonzero, reach},
};
use crate::graph::{Padding, Shape};

/// A transposed 2-D convolution: `x, weights [O, KH, KW, I / groups], [bias [O]]`.
///
/// The result may have any extent: pixels that the full result does not cover contain only the bias.
///
/// ```
/// use texpool::graph::{Padding, Shape, TransposeConv, infer};
///
/// let conv = TransposeConv::plain([2, 2], Padding::default());
/// let (x, weights) = (Shape::new(1, 8, 8, 4), Shape::new(2, 3, 3, 4));
/// // The full result has 17 by 17 pixels; a caller may state fewer.
/// let stated = Shape::new(1, 16, 16, 2);
/// assert_eq!(infer(&conv.into(), &[x, weights], stated)?, stated);
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransposeConv {
    /// Stride `[y, x]`.
    pub stride: [usize; 2],
    /// Dilation `[y, x]`.
    pub dilation: [usize; 2],
    /// Pixels cut off the top and the left of the full result. The extent of the full result is
    /// `(in - 1) * stride + (kernel - 1) * dilation + 1`.
    pub padding: Padding,
    /// Channel groups.
    pub groups: usize,
}

impl TransposeConv {
    /// Creates a transposed convolution without dilation and groups.
    pub const fn plain(stride: [usize; 2], padding: Padding) -> Self {
        Self { stride, dilation: [1, 1], padding, groups: 1 }
    }
}

impl OpSchema for TransposeConv {
    fn name(&self) -> &'static str {
        "TRANSPOSE_CONV"
    }

    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
        let (x, weights, bias) = weighted(inputs)?;
        multiple("input channels by groups", x.c, self.groups)?;
        multiple("output channels by groups", weights.b, self.groups)?;
        same("input channels of the weights", x.c / self.groups, weights.c)?;
        bias_fits(bias, weights.b)?;
        for axis in 0..2 {
            nonzero("stride", self.stride[axis])?;
            nonzero("dilation", self.dilation[axis])?;
        }
        nonzero("height of the window", weights.h)?;
        nonzero("width of the window", weights.w)?;
        reach("height of the window", weights.h, self.dilation[0])?;
        reach("width of the window", weights.w, self.dilation[1])?;
        Ok(Shape { b: x.b, c: weights.b, ..stated })
    }

    fn origin(&self) -> Origin {
        Origin::Weights(&WEIGHTS_AND_BIAS)
    }
}
