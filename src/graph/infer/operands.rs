//! What operators ask of their operands' shapes.

use super::error::ShapeError;
use crate::graph::Shape;

/// The one operand of an operator that takes one.
pub(super) fn only(inputs: &[Shape]) -> Result<Shape, ShapeError> {
    match inputs {
        [x] => Ok(*x),
        _ => Err(ShapeError::Operands { expected: "1", found: inputs.len() }),
    }
}

/// Both operands of an operator that takes two.
pub(super) fn pair(inputs: &[Shape]) -> Result<(Shape, Shape), ShapeError> {
    match inputs {
        [a, b] => Ok((*a, *b)),
        _ => Err(ShapeError::Operands { expected: "2", found: inputs.len() }),
    }
}

/// Input, weights and perhaps a bias.
pub(super) fn weighted(inputs: &[Shape]) -> Result<(Shape, Shape, Option<Shape>), ShapeError> {
    match inputs {
        [x, weights] => Ok((*x, *weights, None)),
        [x, weights, bias] => Ok((*x, *weights, Some(*bias))),
        _ => Err(ShapeError::Operands { expected: "2 or 3", found: inputs.len() }),
    }
}

pub(super) fn same(what: &'static str, expected: usize, found: usize) -> Result<(), ShapeError> {
    if expected == found { Ok(()) } else { Err(ShapeError::Mismatch { what, expected, found }) }
}

pub(super) fn multiple(what: &'static str, value: usize, by: usize) -> Result<(), ShapeError> {
    if by == 0 {
        Err(ShapeError::Zero { what })
    } else if value.is_multiple_of(by) {
        Ok(())
    } else {
        Err(ShapeError::NotMultiple { what, value, by })
    }
}

pub(super) fn bias_fits(bias: Option<Shape>, channels: usize) -> Result<(), ShapeError> {
    match bias {
        Some(bias) => same("elements of the bias", channels, count(bias, "elements of the bias")?),
        None => Ok(()),
    }
}

pub(super) fn count(shape: Shape, what: &'static str) -> Result<usize, ShapeError> {
    shape.checked_len().ok_or(ShapeError::Overflow { what })
}
