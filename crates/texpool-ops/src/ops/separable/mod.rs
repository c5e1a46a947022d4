//! Separable 2-D convolutions: a depthwise convolution and a pointwise one in one step.

pub(crate) mod kernel;
mod reference;

use super::{
    conv::Conv2d,
    schema::{
        OpSchema, Origin, ShapeError,
        shapes::{bias_fits, same},
        window::slide,
    },
};
use crate::graph::{Shape, Unary};

/// A depthwise convolution, a function of its values, and a convolution of single pixels: `x [B, H, W, I], weights
/// [O, 1, 1, I], bias [O], depthwise weights [1, KH, KW, I], depthwise bias [I]`. The result of the depthwise convolution
/// is never stored. `rewrite` joins both convolutions if the rule `separable` is on; no model file has this operator.
///
/// ```
/// use texpool::graph::{Conv2d, Padding, SeparableConv2d, Shape, Unary, infer};
///
/// let padding = Padding { top: 1, bottom: 1, left: 1, right: 1 };
/// let depthwise = Conv2d { stride: [2, 2], dilation: [1, 1], padding, groups: 1 };
/// let op = SeparableConv2d { depthwise, between: Some(Unary::Relu6) };
/// let (x, weights, bias) = (Shape::new(1, 112, 112, 96), Shape::new(24, 1, 1, 96), Shape::new(1, 1, 1, 24));
/// let (window, window_bias) = (Shape::new(1, 3, 3, 96), Shape::new(1, 1, 1, 96));
/// assert_eq!(infer(&op.into(), &[x, weights, bias, window, window_bias], x)?, Shape::new(1, 56, 56, 24));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeparableConv2d {
    /// The depthwise convolution, with one output channel for each input channel. Its `groups` are ignored.
    pub depthwise: Conv2d,
    /// Function of the depthwise convolution's values.
    pub between: Option<Unary>,
}

/// Operands that must be part of the model.
const WEIGHTS: [(usize, &str); 4] = [(1, "weights"), (2, "bias"), (3, "depthwise weights"), (4, "depthwise bias")];

impl OpSchema for SeparableConv2d {
    fn name(&self) -> &'static str {
        "SEPARABLE_CONV_2D"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let &[x, weights, bias, window, window_bias] = inputs else {
            return Err(ShapeError::Operands { expected: "5", found: inputs.len() });
        };
        same("first extent of depthwise weights", 1, window.b)?;
        same("channels of the depthwise weights", x.c, window.c)?;
        same("height of the weights", 1, weights.h)?;
        same("width of the weights", 1, weights.w)?;
        same("channels of the weights", x.c, weights.c)?;
        bias_fits(Some(bias), weights.b)?;
        bias_fits(Some(window_bias), x.c)?;
        let Conv2d { stride, dilation, padding, .. } = self.depthwise;
        let [h, w] = slide(x, [window.h, window.w], stride, dilation, padding)?;
        Ok(Shape::new(x.b, h, w, weights.b))
    }

    fn origin(&self) -> Origin {
        Origin::Weights(&WEIGHTS)
    }
}
