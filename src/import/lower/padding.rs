//! TensorFlow's SAME and VALID, made explicit.

use crate::{graph::Padding, import::error::Problem};

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
        let side = |axis: usize| match self {
            Self::Valid => Ok([0, 0]),
            Self::Same => same(image[axis], window[axis], stride[axis], dilation[axis]),
        };
        let ([top, bottom], [left, right]) = (side(0)?, side(1)?);
        Ok(Padding { top, bottom, left, right })
    }
}

fn same(extent: usize, window: usize, stride: usize, dilation: usize) -> Result<[usize; 2], Problem> {
    let reach = window.checked_sub(1).and_then(|w| w.checked_mul(dilation)).and_then(|r| r.checked_add(1));
    let last = extent.div_ceil(stride).checked_sub(1).and_then(|steps| steps.checked_mul(stride));
    let needed = reach.zip(last).and_then(|(reach, last)| last.checked_add(reach));
    let needed = needed.ok_or_else(|| Problem::malformed("its window overflows"))?;
    let border = needed.saturating_sub(extent);
    Ok([border / 2, border - border / 2])
}
