//! Checks for the shapes of operands.

use super::ShapeError;
use crate::graph::Shape;

/// Names of the extents of a shape.
pub(crate) const AXIS: [&str; 4] = ["batches", "height", "width", "channels"];

/// Returns the only operand of a unary operator.
pub(crate) fn only(inputs: &[Shape]) -> Result<Shape, ShapeError> {
    match inputs {
        [x] => Ok(*x),
        _ => Err(ShapeError::Operands { expected: "1", found: inputs.len() }),
    }
}

/// Returns both operands of a binary operator.
pub(crate) fn pair(inputs: &[Shape]) -> Result<(Shape, Shape), ShapeError> {
    match inputs {
        [a, b] => Ok((*a, *b)),
        _ => Err(ShapeError::Operands { expected: "2", found: inputs.len() }),
    }
}

/// Returns the shapes of input, weights and optional bias.
pub(crate) fn weighted(inputs: &[Shape]) -> Result<(Shape, Shape, Option<Shape>), ShapeError> {
    match inputs {
        [x, weights] => Ok((*x, *weights, None)),
        [x, weights, bias] => Ok((*x, *weights, Some(*bias))),
        _ => Err(ShapeError::Operands { expected: "2 or 3", found: inputs.len() }),
    }
}

pub(crate) fn same(what: &'static str, expected: usize, found: usize) -> Result<(), ShapeError> {
    if expected == found { Ok(()) } else { Err(ShapeError::Mismatch { what, expected, found }) }
}

pub(crate) fn multiple(what: &'static str, value: usize, by: usize) -> Result<(), ShapeError> {
    if by == 0 {
        Err(ShapeError::Zero { what })
    } else if value.is_multiple_of(by) {
        Ok(())
    } else {
        Err(ShapeError::NotMultiple { what, value, by })
    }
}

pub(crate) fn bias_fits(bias: Option<Shape>, channels: usize) -> Result<(), ShapeError> {
    match bias {
        Some(bias) => same("elements of the bias", channels, count(bias, "elements of the bias")?),
        None => Ok(()),
    }
}

pub(crate) fn count(shape: Shape, what: &'static str) -> Result<usize, ShapeError> {
    shape.checked_len().ok_or(ShapeError::Overflow { what })
}

pub(crate) fn times(extent: usize, block: usize) -> Result<usize, ShapeError> {
    extent.checked_mul(block).ok_or(ShapeError::Overflow { what: "extent by the block" })
}

/// Returns the shape that two operands broadcast to.
pub(crate) fn broadcast(a: Shape, b: Shape) -> Result<Shape, ShapeError> {
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
