//! Operators that slide a window over an image: convolutions and pools.

use super::{
    error::ShapeError,
    operands::{bias_fits, multiple, only, same, weighted},
};
use crate::graph::{Conv2d, MAX_ELEMENTS, Padding, Pool2d, PoolKind, Shape, TransposeConv};

pub(super) fn conv2d(conv: &Conv2d, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let (x, weights, bias) = weighted(inputs)?;
    multiple("input channels by groups", x.c, conv.groups)?;
    multiple("output channels by groups", weights.b, conv.groups)?;
    same("input channels of the weights", x.c / conv.groups, weights.c)?;
    bias_fits(bias, weights.b)?;
    let [h, w] = slide(x, [weights.h, weights.w], conv.stride, conv.dilation, conv.padding)?;
    Ok(Shape::new(x.b, h, w, weights.b))
}

pub(super) fn depthwise(conv: &Conv2d, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let (x, weights, bias) = weighted(inputs)?;
    same("first extent of depthwise weights", 1, weights.b)?;
    multiple("channels of the weights", weights.c, x.c)?;
    bias_fits(bias, weights.c)?;
    let [h, w] = slide(x, [weights.h, weights.w], conv.stride, conv.dilation, conv.padding)?;
    Ok(Shape::new(x.b, h, w, weights.c))
}

/// The image may be of any extent: pixels that the full result does not reach hold the bias alone.
pub(super) fn transpose_conv(conv: &TransposeConv, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
    let (x, weights, bias) = weighted(inputs)?;
    multiple("input channels by groups", x.c, conv.groups)?;
    multiple("output channels by groups", weights.b, conv.groups)?;
    same("input channels of the weights", x.c / conv.groups, weights.c)?;
    bias_fits(bias, weights.b)?;
    for axis in 0..2 {
        nonzero("stride", conv.stride[axis])?;
        nonzero("dilation", conv.dilation[axis])?;
    }
    nonzero("height of the window", weights.h)?;
    nonzero("width of the window", weights.w)?;
    reach("height of the window", weights.h, conv.dilation[0])?;
    reach("width of the window", weights.w, conv.dilation[1])?;
    Ok(Shape { b: x.b, c: weights.b, ..stated })
}

pub(super) fn pool(pool: &Pool2d, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let x = only(inputs)?;
    if pool.kind == (PoolKind::Lp { p: 0 }) {
        return Err(ShapeError::Zero { what: "power" });
    }
    let [h, w] = slide(x, pool.window, pool.stride, pool.dilation, pool.padding)?;
    for (axis, what, extent, positions, before) in
        [(0, "window height", x.h, h, pool.padding.top), (1, "window width", x.w, w, pool.padding.left)]
    {
        meets(what, [pool.window[axis], pool.dilation[axis]], extent, before, (positions, pool.stride[axis]))?;
    }
    Ok(Shape { h, w, ..x })
}

/// Most positions of a window whose pixels are further apart than the image is wide: each is looked at, and a border that
/// makes room for so many is none that a network has (its border is as wide as the window, so there are a few).
const MOST_SPARSE: usize = 1 << 12;

/// Every window has a pixel of the image.
fn meets(
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
        let tap = outside.div_ceil(dilation);
        tap < window && (position * stride + tap * dilation).checked_sub(before).is_some_and(|y| y < extent)
    };
    // Only a window whose pixels are further apart than the image is wide can miss the image from both sides.
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

fn slide(
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

/// How many positions a window has along one axis.
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

/// Extent of a window, dilation included.
fn reach(what: &'static str, window: usize, dilation: usize) -> Result<usize, ShapeError> {
    (window - 1).checked_mul(dilation).and_then(|r| r.checked_add(1)).ok_or(ShapeError::Overflow { what })
}

fn nonzero(what: &'static str, value: usize) -> Result<(), ShapeError> {
    if value == 0 { Err(ShapeError::Zero { what }) } else { Ok(()) }
}
