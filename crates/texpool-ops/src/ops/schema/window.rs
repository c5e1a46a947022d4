//! Computes the number of positions of a window that slides over an image.

use super::ShapeError;
use crate::graph::{MAX_ELEMENTS, Padding, Shape};

/// Upper limit on the positions of a window whose pixels are further apart than the image is wide, because each
/// position is checked one by one. No real network has a border with space for more positions than this: usually the
/// border is as wide as the window, which gives few positions.
const MOST_SPARSE: usize = 1 << 12;

/// Checks that every window contains a pixel of the image.
pub(crate) fn every_window_meets_the_image(
    what: &'static str,
    [window, dilation]: [usize; 2],
    extent: usize,
    before: usize,
    (positions, stride): (usize, usize),
) -> Result<(), ShapeError> {
    if positions > MAX_ELEMENTS {
        return Err(ShapeError::Overflow { what });
    }
    let lands = |position: usize| {
        let outside = before.saturating_sub(position * stride);
        // The first tap that is not before the image. If it is after the image, so are all later taps.
        let tap = outside.div_ceil(dilation);
        tap < window && (position * stride + tap * dilation).checked_sub(before).is_some_and(|y| y < extent)
    };
    // If neighbouring pixels of a window are at most one image extent apart, a window cannot step over the image, so
    // checking the first and the last position is enough. Otherwise every position is checked, and their number is
    // limited.
    if dilation > extent && positions > MOST_SPARSE {
        return Err(ShapeError::Positions {
            what,
            window: reach(what, window, dilation)?,
            positions,
            most: MOST_SPARSE,
        });
    }
    let mut all = if dilation <= extent { vec![0, positions - 1] } else { (0..positions).collect() }.into_iter();
    match all.find(|&position| !lands(position)) {
        Some(position) => Err(ShapeError::Outside { what, window: reach(what, window, dilation)?, position, extent }),
        None => Ok(()),
    }
}

pub(crate) fn slide(
    x: Shape,
    window: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    Padding { top, bottom, left, right }: Padding,
) -> Result<[usize; 2], ShapeError> {
    Ok([
        steps("window height", x.h, [top, bottom], window[0], stride[0], dilation[0])?,
        steps("window width", x.w, [left, right], window[1], stride[1], dilation[1])?,
    ])
}

/// Returns the number of positions of a window along one axis.
fn steps(
    what: &'static str,
    extent: usize,
    border: [usize; 2],
    window: usize,
    stride: usize,
    dilation: usize,
) -> Result<usize, ShapeError> {
    nonzero("stride", stride)?;
    nonzero("dilation", dilation)?;
    nonzero(what, window)?;
    let overflow = ShapeError::Overflow { what };
    let reach = reach(what, window, dilation)?;
    let room = extent.checked_add(border[0]).and_then(|r| r.checked_add(border[1])).ok_or(overflow)?;
    match room.checked_sub(reach) {
        Some(rest) => Ok(rest / stride + 1),
        None => Err(ShapeError::Window { what, window: reach, extent: room }),
    }
}

/// Returns the extent of a window, including dilation.
pub(crate) fn reach(what: &'static str, window: usize, dilation: usize) -> Result<usize, ShapeError> {
    (window - 1).checked_mul(dilation).and_then(|r| r.checked_add(1)).ok_or(ShapeError::Overflow { what })
}

pub(crate) fn nonzero(what: &'static str, value: usize) -> Result<(), ShapeError> {
    if value == 0 { Err(ShapeError::Zero { what }) } else { Ok(()) }
}
