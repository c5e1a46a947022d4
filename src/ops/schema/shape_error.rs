//! Why an operator cannot take operands of some shapes.

use crate::graph::Shape;

/// Why an operator cannot take operands of these shapes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// Too few or too many operands.
    #[error("takes {expected} operands, has {found}")]
    Operands {
        /// How many there may be.
        expected: &'static str,
        /// How many there are.
        found: usize,
    },
    /// Two extents that must be equal are not.
    #[error("{what}: expected {expected}, found {found}")]
    Mismatch {
        /// Which extent.
        what: &'static str,
        /// What it must be.
        expected: usize,
        /// What it is.
        found: usize,
    },
    /// An extent is no multiple of what it must be a multiple of.
    #[error("{what}: {value} is no multiple of {by}")]
    NotMultiple {
        /// Which extent.
        what: &'static str,
        /// What it is.
        value: usize,
        /// What it must be a multiple of.
        by: usize,
    },
    /// A stride, dilation, window, block or group count of zero.
    #[error("{what} is zero")]
    Zero {
        /// Which attribute.
        what: &'static str,
    },
    /// A window that does not fit into the padded image.
    #[error("a {what} of {window} does not fit into {extent}")]
    Window {
        /// Which window.
        what: &'static str,
        /// Its extent, dilation included.
        window: usize,
        /// The image's extent, padding included.
        extent: usize,
    },
    /// A window without a pixel of the image: there is nothing to take the greatest or the mean of.
    #[error("a {what} of {window} lies outside the image of {extent} at position {position}")]
    Outside {
        /// Which window.
        what: &'static str,
        /// Its extent, dilation included.
        window: usize,
        /// Which position of the window.
        position: usize,
        /// The image's extent.
        extent: usize,
    },
    /// Too many positions of a window whose pixels are further apart than the image is wide.
    #[error(
        "a {what} of {window}, its pixels further apart than the image is wide, has {positions} positions, at most {most} are supported"
    )]
    Positions {
        /// Which window.
        what: &'static str,
        /// Its extent, dilation included.
        window: usize,
        /// How many positions it has.
        positions: usize,
        /// How many it may have.
        most: usize,
    },
    /// More is cut off an axis than there is.
    #[error("axis {axis}: paddings of {before} and {after} leave nothing of an extent of {extent}")]
    Cut {
        /// 0 to 3.
        axis: usize,
        /// Elements put in front; negative ones cut off.
        before: isize,
        /// Elements put behind; negative ones cut off.
        after: isize,
        /// Extent of the operand along the axis.
        extent: usize,
    },
    /// A number that is not finite, or not above zero where it must be.
    #[error("{what} is out of range")]
    Range {
        /// Which attribute.
        what: &'static str,
    },
    /// Two shapes of which neither repeats into the other.
    #[error("{a} and {b} do not broadcast")]
    Broadcast {
        /// First operand.
        a: Shape,
        /// Second operand.
        b: Shape,
    },
    /// An axis outside 0 to 3, or a list of axes that is no permutation.
    #[error("{what} is no valid choice of axes")]
    Axes {
        /// Which attribute.
        what: &'static str,
    },
    /// Indices outside the operand.
    #[error("axis {axis}: index {index} lies outside an extent of {extent}")]
    Index {
        /// 0 to 3.
        axis: usize,
        /// The first index outside.
        index: i128,
        /// Extent of the operand along the axis.
        extent: usize,
    },
    /// An extent that no machine can count.
    #[error("{what} overflows")]
    Overflow {
        /// Which extent.
        what: &'static str,
    },
}
