//! Reductions: combine all elements along some axes.

pub(super) mod kernel;
pub(super) mod reference;

use super::schema::{OpSchema, Origin, ShapeError, shapes::only};
use crate::graph::Shape;

/// Minimum number of pixels for which a mean over height and width takes two steps in every plan, because an
/// invocation that adds up this many pixels takes long on any device.
pub const LARGE_MEAN: usize = 1 << 14;

/// Reduces the marked axes of `x`; exactly one axis if the result is an index.
///
/// ```
/// use texpool::graph::{Reduce, ReduceKind, Shape, infer};
///
/// // The class of each pixel.
/// let classes = Reduce { kind: ReduceKind::ArgMax { last: false }, axes: [false, false, false, true] };
/// let x = Shape::new(1, 64, 64, 21);
/// assert_eq!(infer(&classes.into(), &[x], x)?, Shape::new(1, 64, 64, 1));
/// let error = infer(&Reduce { axes: [true; 4], ..classes }.into(), &[x], x).unwrap_err();
/// assert_eq!(error.to_string(), "the axis of an index is no valid choice of axes");
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduce {
    /// Function of the reduction.
    pub kind: ReduceKind,
    /// Axes to reduce to one element, in `B, H, W, C` order.
    pub axes: [bool; 4],
}

/// Functions of all values along some axes.
///
/// ```
/// use texpool::graph::ReduceKind;
///
/// assert_eq!(ReduceKind::Max.name(), "REDUCE_MAX");
/// // The sum of a single value is that value, but its norm is its magnitude.
/// assert!(ReduceKind::Sum.keeps_one() && !ReduceKind::L2.keeps_one());
/// assert!(ReduceKind::ArgMin { last: true }.is_index());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceKind {
    /// Arithmetic mean.
    Mean,
    /// Sum.
    Sum,
    /// Sum of the squares.
    SumSquare,
    /// Maximum.
    Max,
    /// Minimum.
    Min,
    /// Product.
    Prod,
    /// Sum of the absolute values.
    L1,
    /// Square root of the sum of the squares.
    L2,
    /// Natural logarithm of the sum.
    LogSum,
    /// Natural logarithm of the sum of `e^x`.
    LogSumExp,
    /// Index of the maximum along the only marked axis.
    ArgMax {
        /// If true, the last of equal values counts instead of the first.
        last: bool,
    },
    /// Index of the minimum along the only marked axis.
    ArgMin {
        /// If true, the last of equal values counts instead of the first.
        last: bool,
    },
}

impl ReduceKind {
    /// Returns the name from the TensorFlow Lite schema, or the ONNX name if the schema has none.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "MEAN",
            Self::Sum => "SUM",
            Self::SumSquare => "ReduceSumSquare",
            Self::Max => "REDUCE_MAX",
            Self::Min => "REDUCE_MIN",
            Self::Prod => "REDUCE_PROD",
            Self::L1 => "ReduceL1",
            Self::L2 => "ReduceL2",
            Self::LogSum => "ReduceLogSum",
            Self::LogSumExp => "ReduceLogSumExp",
            Self::ArgMax { .. } => "ARG_MAX",
            Self::ArgMin { .. } => "ARG_MIN",
        }
    }

    /// Returns whether the function of a single value is that value.
    pub const fn keeps_one(self) -> bool {
        matches!(self, Self::Mean | Self::Sum | Self::Max | Self::Min | Self::Prod | Self::LogSumExp)
    }

    /// Returns whether the result is an index along an axis.
    pub const fn is_index(self) -> bool {
        matches!(self, Self::ArgMax { .. } | Self::ArgMin { .. })
    }
}

impl OpSchema for Reduce {
    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        if self.kind.is_index() && self.axes.iter().filter(|&&axis| axis).count() != 1 {
            return Err(ShapeError::Axes { what: "the axis of an index" });
        }
        let mut dims = only(inputs)?.dims();
        for (extent, reduced) in dims.iter_mut().zip(self.axes) {
            if reduced {
                *extent = 1;
            }
        }
        Ok(dims.into())
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
