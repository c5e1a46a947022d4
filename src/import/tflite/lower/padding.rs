//! TensorFlow's SAME and VALID, made explicit.

use crate::{
    graph::Padding,
    import::{common::window, error::Problem},
};

/// How a border is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// As much border as an output of `ceil(extent / stride)` needs; the odd pixel goes behind.
    Same,
    /// None.
    Valid,
}

impl Scheme {
    /// From the schema's number.
    pub(super) fn of(code: i8) -> Result<Self, Problem> {
        match code {
            0 => Ok(Self::Same),
            1 => Ok(Self::Valid),
            other => Err(Problem::malformed(format!("its padding {other} is unknown"))),
        }
    }

    /// The border of an image of extents `[h, w]`.
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

/// A number of the options that must be above zero.
pub(super) fn positive(what: &str, value: i32) -> Result<usize, Problem> {
    match usize::try_from(value) {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(Problem::malformed(format!("its {what} is {value}"))),
    }
}
