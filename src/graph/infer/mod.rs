//! Shape inference: what an operator makes of its operands' shapes. Knows no tensors, no values and no order of nodes.

mod layout;
mod pointwise;
mod window;

use super::{Op, Shape};

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

/// The shape that `op` gives for operands of the shapes `inputs`.
///
/// Where the operator leaves its result's shape open (reshape, resize, slice, tile, transposed convolution, and the outer
/// extents of a fully connected layer), `stated` decides, and is checked for being possible.
///
/// # Errors
/// If the operator cannot take such operands, or cannot give `stated`.
pub fn infer(op: &Op, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
    match op {
        Op::Conv2d(conv) => window::conv2d(conv, inputs),
        Op::DepthwiseConv2d(conv) => window::depthwise(conv, inputs),
        Op::TransposeConv(conv) => window::transpose_conv(conv, inputs, stated),
        Op::Pool2d(pool) => window::pool(pool, inputs),
        Op::FullyConnected => pointwise::fully_connected(inputs, stated),
        Op::Reduce { kind, axes } => pointwise::reduce(*kind, *axes, inputs),
        Op::Binary(_) => pointwise::binary(inputs),
        Op::Prelu => pointwise::prelu(inputs),
        Op::Unary(_) | Op::Softmax { .. } | Op::Normalize { .. } => only(inputs),
        Op::MatMul { transpose_b } => pointwise::matmul(*transpose_b, inputs),
        Op::TopK { k, .. } => pointwise::top_k(*k, inputs),
        Op::Lrn { size, .. } => pointwise::lrn(*size, inputs),
        Op::CumSum { axis, .. } => pointwise::cum_sum(*axis, inputs),
        Op::Pad { before, after, mode } => layout::pad(before, after, *mode, inputs),
        Op::Tile => layout::tile(inputs, stated),
        Op::Gather { axis } => layout::gather(*axis, inputs),
        Op::GatherElements { axis } => layout::gather_elements(*axis, inputs),
        Op::Concat { axis } => layout::concat(*axis, inputs),
        Op::StridedSlice { begin, stride } => layout::slice(begin, stride, inputs, stated),
        Op::Reshape => layout::reshape(inputs, stated),
        Op::Transpose { perm } => layout::transpose(*perm, inputs),
        Op::DepthToSpace { block, .. } => layout::depth_to_space(*block, inputs),
        Op::SpaceToDepth { block } => layout::space_to_depth(*block, inputs),
        Op::Resize { .. } => layout::resize(op, inputs, stated),
        Op::GridSample { .. } => layout::grid_sample(inputs),
    }
}

/// The one operand of an operator that takes one.
fn only(inputs: &[Shape]) -> Result<Shape, ShapeError> {
    match inputs {
        [x] => Ok(*x),
        _ => Err(ShapeError::Operands { expected: "1", found: inputs.len() }),
    }
}

/// Both operands of an operator that takes two.
fn pair(inputs: &[Shape]) -> Result<(Shape, Shape), ShapeError> {
    match inputs {
        [a, b] => Ok((*a, *b)),
        _ => Err(ShapeError::Operands { expected: "2", found: inputs.len() }),
    }
}

/// Input, weights and perhaps a bias.
fn weighted(inputs: &[Shape]) -> Result<(Shape, Shape, Option<Shape>), ShapeError> {
    match inputs {
        [x, weights] => Ok((*x, *weights, None)),
        [x, weights, bias] => Ok((*x, *weights, Some(*bias))),
        _ => Err(ShapeError::Operands { expected: "2 or 3", found: inputs.len() }),
    }
}

fn same(what: &'static str, expected: usize, found: usize) -> Result<(), ShapeError> {
    if expected == found { Ok(()) } else { Err(ShapeError::Mismatch { what, expected, found }) }
}

fn multiple(what: &'static str, value: usize, by: usize) -> Result<(), ShapeError> {
    if by == 0 {
        Err(ShapeError::Zero { what })
    } else if value.is_multiple_of(by) {
        Ok(())
    } else {
        Err(ShapeError::NotMultiple { what, value, by })
    }
}

fn bias_fits(bias: Option<Shape>, channels: usize) -> Result<(), ShapeError> {
    match bias {
        Some(bias) => same("elements of the bias", channels, count(bias, "elements of the bias")?),
        None => Ok(()),
    }
}

fn count(shape: Shape, what: &'static str) -> Result<usize, ShapeError> {
    shape.checked_len().ok_or(ShapeError::Overflow { what })
}
