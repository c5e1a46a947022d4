//! Depthwise 2-D convolutions, which process each input channel separately.

pub(crate) mod kernel;
mod reference;

use super::{
    conv::Conv2d,
    schema::{
        OpSchema, Origin, ShapeError, WEIGHTS_AND_BIAS,
        shapes::{bias_fits, multiple, same, weighted},
        window::slide,
    },
};
use crate::graph::Shape;

/// A depthwise 2-D convolution: `x, weights [1, KH, KW, I * multiplier], [bias]`; output channel `o` reads input
/// channel `o / multiplier`. The `groups` of the convolution are ignored.
///
/// ```
/// use texpool::graph::{Conv2d, DepthwiseConv2d, Padding, Shape, infer};
///
/// let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding::default(), groups: 1 };
/// // Two output channels of each input channel.
/// let (x, weights) = (Shape::new(1, 8, 8, 3), Shape::new(1, 3, 3, 6));
/// assert_eq!(infer(&DepthwiseConv2d(conv).into(), &[x, weights], x)?, Shape::new(1, 6, 6, 6));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepthwiseConv2d(pub Conv2d);

impl OpSchema for DepthwiseConv2d {
    fn name(&self) -> &'static str {
        "DEPTHWISE_CONV_2D"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let (x, weights, bias) = weighted(inputs)?;
        same("first extent of depthwise weights", 1, weights.b)?;
        multiple("channels of the weights", weights.c, x.c)?;
        bias_fits(bias, weights.c)?;
        let Self(Conv2d { stride, dilation, padding, .. }) = *self;
        let [h, w] = slide(x, [weights.h, weights.w], stride, dilation, padding)?;
        Ok(Shape::new(x.b, h, w, weights.c))
    }

    fn origin(&self) -> Origin {
        Origin::Weights(&WEIGHTS_AND_BIAS)
    }
}
