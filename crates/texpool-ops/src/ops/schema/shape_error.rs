//! Errors for operands with invalid shapes.

use crate::graph::Shape;

/// Reason why an operator cannot take operands of these shapes.
///
/// ```
/// use texpool::graph::{Op, Shape, ShapeError, infer};
///
/// let error = infer(&Op::Reshape, &[Shape::new(1, 4, 4, 2)], Shape::new(1, 1, 1, 33)).unwrap_err();
/// assert_eq!(error, ShapeError::Mismatch { what: "elements", expected: 32, found: 33 });
/// assert_eq!(error.to_string(), "elements: expected 32, found 33");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// Too few or too many operands.
    #[error("takes {expected} operands, has {found}")]
    Operands {
        /// Allowed numbers of operands.
        expected: &'static str,
        /// Actual number of operands.
        found: usize,
    },
    /// Two extents differ that must be equal.
    #[error("{what}: expected {expected}, found {found}")]
    Mismatch {
        /// Description of the extent.
        what: &'static str,
        /// Expected value.
        expected: usize,
        /// Actual value.
        found: usize,
    },
    /// An extent must be a multiple of a number, but is not.
    #[error("{what}: {value} is no multiple of {by}")]
    NotMultiple {
        /// Description of the extent.
        what: &'static str,
        /// Actual value.
        value: usize,
        /// Required divisor.
        by: usize,
    },
    /// A stride, dilation, window, block or group count is zero.
    #[error("{what} is zero")]
    Zero {
        /// Name of the attribute.
        what: &'static str,
    },
    /// A window does not fit into the padded image.
    #[error("a {what} of {window} does not fit into {extent}")]
    Window {
        /// Description of the window.
        what: &'static str,
        /// Extent of the window, including dilation.
        window: usize,
        /// Extent of the image, including padding.
        extent: usize,
    },
    /// A window contains no pixel of the image, so it has no maximum and no mean.
    #[error("a {what} of {window} lies outside the image of {extent} at position {position}")]
    Outside {
        /// Description of the window.
        what: &'static str,
        /// Extent of the window, including dilation.
        window: usize,
        /// Position of the window.
        position: usize,
        /// Extent of the image.
        extent: usize,
    },
    /// A window whose pixels are further apart than the image is wide has too many positions.
    #[error(
        "a {what} of {window}, its pixels further apart than the image is wide, has {positions} positions, at most {most} are supported"
    )]
    Positions {
        /// Description of the window.
        what: &'static str,
        /// Extent of the window, including dilation.
        window: usize,
        /// Actual number of positions.
        positions: usize,
        /// Maximum number of positions.
        most: usize,
    },
    /// A negative padding cuts off more of an axis than its extent.
    #[error("axis {axis}: paddings of {before} and {after} leave nothing of an extent of {extent}")]
    Cut {
        /// Axis, 0 to 3.
        axis: usize,
        /// Elements added before; negative numbers cut off.
        before: isize,
        /// Elements added after; negative numbers cut off.
        after: isize,
        /// Extent of the operand along the axis.
        extent: usize,
    },
    /// A number is not finite, or not positive although required.
    #[error("{what} is out of range")]
    Range {
        /// Name of the attribute.
        what: &'static str,
    },
    /// A number is larger than is supported.
    #[error("{what} is {number}, at most {most} is supported")]
    Limit {
        /// Name of the attribute.
        what: &'static str,
        /// The number.
        number: u64,
        /// The largest supported number.
        most: u64,
    },
    /// Two shapes do not broadcast.
    #[error("{a} and {b} do not broadcast")]
    Broadcast {
        /// First operand.
        a: Shape,
        /// Second operand.
        b: Shape,
    },
    /// An axis is outside 0 to 3, or a list of axes is not a permutation.
    #[error("{what} is no valid choice of axes")]
    Axes {
        /// Name of the attribute.
        what: &'static str,
    },
    /// An index is outside the operand.
    #[error("axis {axis}: index {index} lies outside an extent of {extent}")]
    Index {
        /// Axis, 0 to 3.
        axis: usize,
        /// The first index outside.
        index: i128,
        /// Extent of the operand along the axis.
        extent: usize,
    },
    /// An extent overflows.
    #[error("{what} overflows")]
    Overflow {
        /// Description of the extent.
        what: &'static str,
    },
}
