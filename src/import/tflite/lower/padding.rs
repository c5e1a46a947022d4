//! TensorFlow's SAME and VALID, made explicit.

use crate::{graph::Padding, import::error::Problem};

/// Most pixels that a dilated window may span: positions relative to an image must fit 32 bits with a sign.
const MAX_REACH: usize = 1 << 30;

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
        for axis in 0..2 {
            let reach = window[axis].checked_sub(1).and_then(|w| w.checked_mul(dilation[axis]));
            if reach.is_none_or(|reach| reach > MAX_REACH) {
                return Err(Problem::malformed(format!("a window of {window:?}, dilated by {dilation:?}")));
            }
        }
        let side = |axis: usize| match self {
            Self::Valid => [0, 0],
            Self::Same => same(image[axis], window[axis], stride[axis], dilation[axis]),
        };
        let ([top, bottom], [left, right]) = (side(0), side(1));
        Ok(Padding { top, bottom, left, right })
    }
}

fn same(extent: usize, window: usize, stride: usize, dilation: usize) -> [usize; 2] {
    let last = (extent.div_ceil(stride) - 1) * stride;
    let border = (last + (window - 1) * dilation + 1).saturating_sub(extent);
    [border / 2, border - border / 2]
}
