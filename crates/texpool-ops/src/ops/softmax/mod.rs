//! Softmax over channels, and its logarithm.

mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{broadcast, same},
};
use crate::graph::Shape;

/// Softmax of `beta * x` over channels, or of `beta * ((x + a) + b)`: up to two addends follow `x`, such as the bias and the
/// mask of an attention. Their extents are those of `x`, or one, except for channels. At most one of them is computed.
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
        let [x, ref addends @ ..] = *inputs else {
            return Err(ShapeError::Operands { expected: "1 to 3", found: 0 });
        };
        if addends.len() > 2 {
            return Err(ShapeError::Operands { expected: "1 to 3", found: inputs.len() });
        }
        for &addend in addends {
            same("channels of the addend", x.c, addend.c)?;
            if broadcast(x, addend)? != x {
                return Err(ShapeError::Broadcast { a: x, b: addend });
            }
        }
        Ok(x)
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
