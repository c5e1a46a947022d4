//! Operators whose result has the extents of an operand, or ones: element by element, reductions, fully connected.

use super::{ShapeError, bias_fits, count, multiple, only, pair, same, weighted};
use crate::graph::Shape;

pub(super) fn binary(inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let (a, b) = pair(inputs)?;
    let mut result = [0; 4];
    for ((r, x), y) in result.iter_mut().zip(a.dims()).zip(b.dims()) {
        *r = match (x, y) {
            (1, other) | (other, 1) => other,
            (x, y) if x == y => x,
            _ => return Err(ShapeError::Broadcast { a, b }),
        };
    }
    Ok(result.into())
}

/// As in TensorFlow Lite, alpha repeats into the input and never the other way round.
pub(super) fn prelu(inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let (x, alpha) = pair(inputs)?;
    if binary(inputs)? == x { Ok(x) } else { Err(ShapeError::Broadcast { a: x, b: alpha }) }
}

pub(super) fn reduce(axes: [bool; 4], inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let mut dims = only(inputs)?.dims();
    for (extent, reduced) in dims.iter_mut().zip(axes) {
        if reduced {
            *extent = 1;
        }
    }
    Ok(dims.into())
}

pub(super) fn fully_connected(inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
    let (x, weights, bias) = weighted(inputs)?;
    same("outer extents of the weights", 1, weights.b)?;
    same("outer extents of the weights", 1, weights.h)?;
    let (outputs, depth) = (weights.w, weights.c);
    bias_fits(bias, outputs)?;
    let elements = count(x, "elements of the input")?;
    multiple("elements of the input by columns of the weights", elements, depth)?;
    let rows = elements / depth;
    same("output channels", outputs, stated.c)?;
    let pixels = count(Shape { c: 1, ..stated }, "pixels of the output")?;
    same("rows of the output", rows, pixels)?;
    Ok(stated)
}
