//! Operators that slide a window over an image: convolutions and pools.

use super::{ShapeError, bias_fits, multiple, only, same, weighted};
use crate::graph::{Conv2d, Padding, Pool2d, Shape, TransposeConv};

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
    same("input channels of the weights", x.c, weights.c)?;
    bias_fits(bias, weights.b)?;
    for stride in conv.stride {
        nonzero("stride", stride)?;
    }
    nonzero("height of the window", weights.h)?;
    nonzero("width of the window", weights.w)?;
    Ok(Shape { b: x.b, c: weights.b, ..stated })
}

pub(super) fn pool(pool: &Pool2d, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let x = only(inputs)?;
    let Padding { top, bottom, left, right } = pool.padding;
    for (border, window) in
        [(top, pool.window[0]), (bottom, pool.window[0]), (left, pool.window[1]), (right, pool.window[1])]
    {
        // A window wholly in the border would have no pixel to take the greatest or the mean of.
        if border > 0 && border >= window {
            return Err(ShapeError::Border { border, window });
        }
    }
    let [h, w] = slide(x, pool.window, pool.stride, [1, 1], pool.padding)?;
    Ok(Shape { h, w, ..x })
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
    let reach = (window - 1).checked_mul(dilation).and_then(|r| r.checked_add(1)).ok_or(overflow.clone())?;
    let room = extent.checked_add(border[0]).and_then(|r| r.checked_add(border[1])).ok_or(overflow)?;
    match room.checked_sub(reach) {
        Some(rest) => Ok(rest / stride + 1),
        None => Err(ShapeError::Window { what, window: reach, extent: room }),
    }
}

fn nonzero(what: &'static str, value: usize) -> Result<(), ShapeError> {
    if value == 0 { Err(ShapeError::Zero { what }) } else { Ok(()) }
}
