//! Converts TensorFlow's SAME and VALID to explicit padding.

use crate::import::{common::window, error::Problem};
use texpool_ops::graph::Padding;

/// Rule for the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// The border that `ceil(extent / stride)` results need. An odd pixel goes to the end.
    Same,
    /// No border.
    Valid,
}

impl Scheme {
    /// Converts the schema's number.
    pub(super) fn of(code: i8) -> Result<Self, Problem> {
        match code {
            0 => Ok(Self::Same),
            1 => Ok(Self::Valid),
            other => Err(Problem::malformed(format!("its padding {other} is unknown"))),
        }
    }

    /// Returns the border for an image with extents `[h, w]`.
    pub(super) fn around(
        self,
        image: [usize; 2],
        window: [usize; 2],
        stride: [usize; 2],
        dilation: [usize; 2],
    ) -> Result<Padding, Problem> {
        let reach = window::reach(window, dilation)?;
        Ok(match self {
            Self::Valid => Padding::default(),
            Self::Same => window::same(image, reach, stride, false),
        })
    }
}

/// Converts a number of the options that must be positive.
pub(super) fn positive(what: &str, value: i32) -> Result<usize, Problem> {
    match usize::try_from(value) {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(Problem::malformed(format!("its {what} is {value}"))),
    }
}
